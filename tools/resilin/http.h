// tools/resilin/http.h -- the little of HTTP/1.1 that a page of metrics needs, as functions of text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace resilin::tool {

struct HttpRequest {
  std::string method;
  std::string path;  // without what stands behind '?'
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
};

/// Whether all lines of a request's head are there: an empty line has come.
bool has_whole_head(std::string_view bytes);

/// The request of a head; or, of one that is none, nothing and in `refused` the answer that says why.
std::optional<HttpRequest> parse_request(std::string_view bytes, HttpAnswer& refused);

/// An answer that says in words what its status means.
HttpAnswer plain_answer(int status, std::string_view more = "");

/// The bytes of an answer, after which the connection is closed. Of HEAD the body is left out, its length is not.
std::string answer_text(const HttpAnswer& answer, bool with_body);

}  // namespace resilin::tool
