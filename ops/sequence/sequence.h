// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

// Operators on batches of sequences of different lengths.
namespace loomix::ops {

class OpTable;

// SequenceLast and SequenceReverse.
struct SequenceParams {
  bool use_sequence_length = false;
  int axis = 0;
  template <class P>
  static void length_field(FieldList<P>& f) {
    f("use_sequence_length", &P::use_sequence_length,
      "Takes the length of each sequence from `sequence_length`; else all are as long as the axis.");
  }
  template <class P>
  static void axis_field(FieldList<P>& f) {
    f("axis", &P::axis, "The axis of time, 0 or 1; the other one counts sequences.").at_least(0).at_most(1);
  }
  static void fields(FieldList<SequenceParams>& f) {
    length_field(f);
    axis_field(f);
  }
};

struct SequenceMaskParams : SequenceParams {
  float value = 0;
  static void fields(FieldList<SequenceMaskParams>& f) {
    length_field(f);
    f("value", &SequenceMaskParams::value, "What stands behind the end of a sequence.");
    axis_field(f);
  }
};

enum class BlankLabel { first, last };

struct CtcParams {
  bool use_data_lengths = false;
  bool use_label_lengths = false;
  BlankLabel blank_label = BlankLabel::first;
  static void fields(FieldList<CtcParams>& f) {
    f("use_data_lengths", &CtcParams::use_data_lengths,
      "Takes the length of each sequence from `data_lengths`.");
    f("use_label_lengths", &CtcParams::use_label_lengths,
      "Takes the length of each label from `label_lengths`; else padding ends it.");
    f("blank_label", &CtcParams::blank_label,
      "The class of the blank: the first one, 0 being the padding of labels, or the last one, -1 being the "
      "padding.")
        .options({{"first", BlankLabel::first}, {"last", BlankLabel::last}});
  }
};

void register_ctc_loss(OpTable& table);

void sequence_last_cpu(const SequenceParams& p, const KernelArgs& args);
void backward_sequence_last_cpu(const SequenceParams& p, const KernelArgs& args);
void sequence_reverse_cpu(const SequenceParams& p, const KernelArgs& args);
void sequence_mask_cpu(const SequenceMaskParams& p, const KernelArgs& args);
// data, label, lengths -> the loss of each sequence, and its slope to the data, which is skipped if nobody wants it.
void ctc_loss_cpu(const CtcParams& p, const KernelArgs& args);
size_t ctc_loss_scratch(const CtcParams& p, const KernelSpec& spec);
// head, slope -> slope times the head of each sequence.
void backward_ctc_loss_cpu(const NoParams&, const KernelArgs& args);

}  // namespace loomix::ops
