// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ops/op.h"

// Operators on batches of sequences of different lengths.
namespace loomix::ops {

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

// ValueError in the name of `who` unless each of the lengths is `least` to `time`.
void check_lengths(const char* who, int64_t batch, int64_t time, const TensorView& lengths, int64_t least);

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

}  // namespace loomix::ops
