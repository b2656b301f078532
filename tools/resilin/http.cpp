// tools/resilin/http.cpp -- requests read, answers written.
#include "tools/resilin/http.h"

#include <algorithm>
#include <utility>

#include "resilin/base/text.h"

namespace resilin::tool {
namespace {

constexpr std::pair<int, std::string_view> kReasons[] = {
    {200, "OK"},
    {400, "Bad Request"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {408, "Request Timeout"},
    {431, "Request Header Fields Too Large"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
};

std::string_view reason_of(int status) {
  const auto* const found = std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == std::end(kReasons) ? "Unknown" : found->second;
}

/// RFC 9110: what methods and names of fields are made of.
bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    return is_letter || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7f; });
}

bool is_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return false;
  return std::ranges::all_of(line.substr(colon + 1),
                             [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f); });
}

bool names_host(std::string_view line) {
  constexpr std::string_view kHost = "host:";
  return line.size() >= kHost.size() &&
         std::ranges::equal(line.substr(0, kHost.size()), kHost, [](char a, char b) { return (a | 0x20) == (b | 0x20); });
}

/// Takes a line off; nothing when it does not end as lines of HTTP do.
std::optional<std::string_view> take_line(std::string_view& bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = bytes.substr(0, end);
  bytes.remove_prefix(end + 2);
  if (line.find('\n') != std::string_view::npos) return std::nullopt;
  return line;
}

/// "GET /metrics HTTP/1.1". 200, or why it is refused.
int parse_first_line(std::string_view line, HttpRequest& request, bool& needs_host) {
  const std::size_t first = line.find(' ');
  const std::size_t second = first == std::string_view::npos ? first : line.find(' ', first + 1);
  if (second == std::string_view::npos) return 400;
  const std::string_view method = line.substr(0, first), target = line.substr(first + 1, second - first - 1),
                         version = line.substr(second + 1);
  const bool is_version = version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.';
  if (!is_token(method) || !target.starts_with('/') || !is_visible(target) || !is_version) return 400;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return 505;
  needs_host = version == "HTTP/1.1";
  request.method = method;
  request.path = target.substr(0, target.find('?'));
  return 200;
}

}  // namespace

bool has_whole_head(std::string_view bytes) {
  return bytes.find("\r\n\r\n") != std::string_view::npos || bytes.find("\n\n") != std::string_view::npos;
}

std::optional<HttpRequest> parse_request(std::string_view bytes, HttpAnswer& refused) {
  HttpRequest request;
  bool needs_host = false;
  std::optional<std::string_view> line = take_line(bytes);
  int status = line ? parse_first_line(*line, request, needs_host) : 400;
  int hosts = 0;
  while (status == 200) {
    line = take_line(bytes);
    if (line && line->empty()) break;
    if (!line || !is_field(*line)) status = 400;
    if (line && names_host(*line)) ++hosts;
  }
  if (status == 200 && (hosts > 1 || (needs_host && hosts == 0))) status = 400;
  if (status == 200) return request;
  refused = plain_answer(status);
  return std::nullopt;
}

HttpAnswer plain_answer(int status, std::string_view more) { return {status, cat(reason_of(status), more, "\n")}; }

std::string answer_text(const HttpAnswer& answer, bool with_body) {
  std::string text = cat("HTTP/1.1 ", answer.status, " ", reason_of(answer.status), "\r\nContent-Type: ", answer.type,
                         "\r\nContent-Length: ", answer.body.size(), "\r\nConnection: close\r\n");
  if (answer.status == 405) text += "Allow: GET, HEAD\r\n";
  text += "\r\n";
  return with_body ? text + answer.body : text;
}

}  // namespace resilin::tool
