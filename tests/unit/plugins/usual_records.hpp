// Records as the record sets have them.
#ifndef GRISTMILL_TESTS_USUAL_RECORDS_HPP
#define GRISTMILL_TESTS_USUAL_RECORDS_HPP

#include <string>

namespace gristmill::test {

inline const std::string medium_fields =
    R"("event_id":"evt_0123456789ab","user_id":"user_00000007","item_id":"item_000003",)"
    R"("session_id":"sess_ba9876543210","timestamp":1700043200,"event_type":"purchase",)"
    R"("device":"android","duration_ms":1500,"scroll_depth":0.125,"revenue_cents":777,)"
    R"("user_context":{"num_prev_sessions":17,"avg_session_duration_s":90.5,)"
    R"("user_tier":"premium","days_since_signup":400},)"
    R"("item_context":{"category":"cat_007","price_cents":2999,"rating":4.5,"num_reviews":0},)"
    R"("experiment_bucket":"exp_C")";

inline const std::string medium_record = "{" + medium_fields + "}";

inline const std::string medium_output_fields =
    R"("eid":"evt_0123456789ab","uid":"user_00000007","iid":"item_000003","ts_n":0.5,"hod":10,)"
    R"("dow":6,"et":4,"dev":1,"log_dur":7.3139,"scr":0.125,"rev":1,"tier":2,"sess":17,"dss":400,)"
    R"("log_pr":8.0064,"rate":4.5)";

inline const std::string medium_output = "{" + medium_output_fields + "}";

inline const std::string heavy_record =
    "{" + medium_fields +
    R"(,"review_text":"the quick dogs jumps over shipping","search_query":"good dog"})";

inline const std::string tokenize_record =
    R"({"doc_id":7,"text":"the cats the walking dog unknowns the cats the walking dog unknowns )"
    R"(the cats the walking dog unknowns extraordinarily the dog","source":"web","lang":"en",)"
    R"("timestamp":1700000060})";

/// Of tokenize_record: it has no unknowns, no suffix ly, and walk instead of walking.
inline const std::string vocabulary = "5\tthe\n2\tcat\n3\tdog\n4\twalk\n70000\tsupercalifragilistic"
                                      "\n6\ts\n7\ting\n8\textraordinari\n";

} // namespace gristmill::test

#endif
