// src/resilin/parallel/elastic.cpp -- the public face of elastic training.
#include "resilin/parallel/elastic.h"

#include <utility>

#include "resilin/parallel/elastic_body.h"

namespace resilin::parallel {

using namespace dist;

Elastic::Elastic(StepState& state, const std::vector<Tensor>& parameters, ElasticOptions options)
    : body_(std::make_unique<Body>(state, parameters, std::move(options), leave_asked_)) {}
Elastic::~Elastic() = default;
ChangeRules Elastic::changes() { return body_->changes(); }
void Elastic::join(ProcessGroup group) { body_->join(std::move(group)); }
StepReport Elastic::step(const SlotFunction& run_slot, const ApplyFunction& apply) { return body_->step(run_slot, apply); }
void Elastic::heal() { body_->heal(); }
i64 Elastic::next_step() const { return body_->next_step(); }
bool Elastic::is_healed() const { return body_->is_healed(); }
void Elastic::leave() { body_->leave(); }
void Elastic::finish(const std::function<void()>& last_words) { body_->finish(last_words, true); }
void Elastic::leave_together(const std::function<void()>& last_words) { body_->finish(last_words, false); }
void Elastic::save(const std::string& folder, i64 keep) { body_->save(folder, keep); }
void Elastic::set_protects(bool protects) { body_->set_protects(protects); }
Goodput& Elastic::goodput() { return body_->goodput(); }
ProcessGroup& Elastic::group() { return body_->group(); }

}  // namespace resilin::parallel
