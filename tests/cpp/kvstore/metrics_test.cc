// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/node_metrics.h"

#include <gmock/gmock.h>

namespace loomix::kvstore {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(NodeMetrics, EveryNodeHasAPortOfItsOwn) {
  EXPECT_EQ(metrics_port(9400, {comm::Role::scheduler, 0}, 2), 9400);
  EXPECT_EQ(metrics_port(9400, {comm::Role::server, 1}, 2), 9402);
  EXPECT_EQ(metrics_port(9400, {comm::Role::worker, 0}, 2), 9403);
}

TEST(NodeMetrics, TheSchedulerTellsWhoIsThere) {
  View view;
  view.number = 3;
  view.servers = {{{{comm::Role::server, 0}, 7}, "tcp://host.a:41|KEY:", true}};
  view.workers = {{{{comm::Role::worker, 0}, 0}, "", false}};
  view.servers.push_back({{{comm::Role::server, 1}, 8}, "tcp://host.b:41", false});
  view.chains = {{{.server = 0, .synchronised = true}, {.server = 1, .synchronised = true}},
                 {{.server = 0, .synchronised = false}}};
  comm::MetricsText text;
  add_view_metrics(text, view);
  EXPECT_THAT(text.text(), HasSubstr("\nloomix_cluster_view 3\n"));
  EXPECT_THAT(text.text(),
              HasSubstr("\nloomix_cluster_member{role=\"server\",rank=\"0\",host=\"host.a\"} 1\n"));
  EXPECT_THAT(text.text(), HasSubstr("\nloomix_cluster_member{role=\"worker\",rank=\"0\",host=\"\"} 0\n"));
  EXPECT_THAT(text.text(), HasSubstr("\nloomix_cluster_copies{group=\"0\"} 1\n"));
  EXPECT_THAT(text.text(), HasSubstr("\nloomix_cluster_copies{group=\"1\"} 0\n"));
}

TEST(NodeMetrics, HeadsTellHowFarWorkersAreBehind) {
  GroupNumbers head, second, foreign;
  head.place = 0;
  head.rounds = 12;
  head.behind = {0, 3};
  second.group = second.place = 1;
  second.behind = {9};
  foreign.group = 2;
  comm::MetricsText text;
  add_group_metrics(text, {head, second, foreign});
  EXPECT_THAT(text.text(), HasSubstr("\nloomix_rounds{group=\"0\",place=\"0\"} 12\n"));
  EXPECT_THAT(text.text(), HasSubstr("\nloomix_rounds{group=\"1\",place=\"1\"} 0\n"));
  EXPECT_THAT(text.text(), HasSubstr("\nloomix_worker_behind{worker=\"1\",group=\"0\"} 3\n"));
  EXPECT_THAT(text.text(), Not(HasSubstr("} 9\n")));
  EXPECT_THAT(text.text(), Not(HasSubstr("group=\"2\"")));
}

}  // namespace
}  // namespace loomix::kvstore
