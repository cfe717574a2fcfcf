// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <limits>

#include "ops/optimizer/update_params.h"

// The mathematics of the update operators: one element's weight w, gradient g and states s give the new weight; the
// states change in place. A is the type computed in. constexpr, so that nvcc compiles them for both sides.
namespace loomix::ops::update {

template <class A>
struct Rescale {
  A scale;
  A limit;  // infinite where nothing is clipped, so that the loop has no case for it
  template <class P>
  explicit Rescale(const P& p) : Rescale(A(p.rescale_grad), A(p.clip_gradient)) {}
  Rescale(A scale_value, A limit_value)
      : scale(scale_value), limit(limit_value < 0 ? std::numeric_limits<A>::infinity() : limit_value) {}
  [[gnu::always_inline]] constexpr A clip(A g) const {
    const A low = g < -limit ? -limit : g;
    return low > limit ? limit : low;
  }
  [[gnu::always_inline]] constexpr A operator()(A g) const { return clip(scale * g); }
};

template <class A>
[[gnu::always_inline]] constexpr A sign(A x) {
  return x > 0 ? A{1} : x < 0 ? A{-1} : A{0};
}

template <class A>
[[gnu::always_inline]] constexpr A clip_to(A x, A limit) {
  return limit < 0 ? x : x > limit ? limit : x < -limit ? -limit : x;
}

template <class A>
struct Sgd {
  static constexpr int kStates = 0;
  A lr, wd;
  Rescale<A> rescale;
  template <class P>
  explicit Sgd(const P& p) : lr(p.lr), wd(p.wd), rescale(p) {}
  template <class P>
  Sgd(const P& p, A rate, A decay) : lr(rate), wd(decay), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A*) const {
    return (1 - lr * wd) * w - lr * rescale(g);
  }
};

template <class A>
struct SgdMom {
  static constexpr int kStates = 1;
  A lr, wd, momentum;
  Rescale<A> rescale;
  template <class P>
  explicit SgdMom(const P& p) : lr(p.lr), wd(p.wd), momentum(p.momentum), rescale(p) {}
  template <class P>
  SgdMom(const P& p, A rate, A decay) : lr(rate), wd(decay), momentum(p.momentum), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    s[0] = momentum * s[0] - lr * wd * w - lr * rescale(g);
    return w + s[0];
  }
};

// As in MXNet, the momentum that is kept decays by the new weight if that is written in place.
template <class A>
struct Nag {
  static constexpr int kStates = 1;
  A lr, wd, momentum;
  Rescale<A> rescale;
  bool in_place;
  Nag(const NagParams& p, bool writes_in_place)
      : lr(p.lr), wd(p.wd), momentum(p.momentum), rescale(p), in_place(writes_in_place) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    const A kept = momentum * s[0], step = kept - lr * rescale(g);
    const A next = w - kept + (momentum + 1) * (step - lr * wd * w);
    s[0] = step - lr * wd * (in_place ? next : w);
    return next;
  }
};

template <class A>
struct Adam {
  static constexpr int kStates = 2;
  A lr, wd, beta1, beta2, epsilon;
  Rescale<A> rescale;
  explicit Adam(const AdamParams& p)
      : lr(p.lr), wd(p.wd), beta1(p.beta1), beta2(p.beta2), epsilon(p.epsilon), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale.clip(rescale.scale * g + wd * w);
    s[0] = beta1 * s[0] + (1 - beta1) * g;
    s[1] = beta2 * s[1] + (1 - beta2) * g * g;
    return w - lr * s[0] / (std::sqrt(s[1]) + epsilon);
  }
};

template <class A>
struct AdamW {
  static constexpr int kStates = 2;
  A lr, wd, eta, beta1, beta2, epsilon;
  Rescale<A> rescale;
  template <class P>
  AdamW(const P& p, A rate, A decay, A factor, A scale)
      : lr(rate),
        wd(decay),
        eta(factor),
        beta1(p.beta1),
        beta2(p.beta2),
        epsilon(p.epsilon),
        rescale(scale, p.clip_gradient) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale(g);
    s[0] = beta1 * s[0] + (1 - beta1) * g;
    s[1] = beta2 * s[1] + (1 - beta2) * g * g;
    return w - eta * (lr * s[0] / (std::sqrt(s[1]) + epsilon) + wd * w);
  }
};

template <class A>
struct RmsProp {
  static constexpr int kStates = 1;
  A lr, wd, gamma1, epsilon, clip_weights;
  Rescale<A> rescale;
  explicit RmsProp(const RmsPropParams& p)
      : lr(p.lr), wd(p.wd), gamma1(p.gamma1), epsilon(p.epsilon), clip_weights(p.clip_weights), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale.clip(rescale.scale * g + wd * w);
    s[0] = (1 - gamma1) * g * g + gamma1 * s[0];
    return clip_to(w - lr * g / std::sqrt(s[0] + epsilon), clip_weights);
  }
};

template <class A>
struct RmsPropAlex {
  static constexpr int kStates = 3;
  A lr, wd, gamma1, gamma2, epsilon, clip_weights;
  Rescale<A> rescale;
  explicit RmsPropAlex(const RmsPropAlexParams& p)
      : lr(p.lr),
        wd(p.wd),
        gamma1(p.gamma1),
        gamma2(p.gamma2),
        epsilon(p.epsilon),
        clip_weights(p.clip_weights),
        rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale.clip(rescale.scale * g + wd * w);
    s[0] = (1 - gamma1) * g * g + gamma1 * s[0];
    s[1] = (1 - gamma1) * g + gamma1 * s[1];
    s[2] = gamma2 * s[2] - lr * g / std::sqrt(s[0] - s[1] * s[1] + epsilon);
    return clip_to(w + s[2], clip_weights);
  }
};

template <class A>
struct Ftrl {
  static constexpr int kStates = 2;
  A lr, wd, lamda1, beta;
  Rescale<A> rescale;
  explicit Ftrl(const FtrlParams& p) : lr(p.lr), wd(p.wd), lamda1(p.lamda1), beta(p.beta), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale(g);
    const A n = s[1] + g * g;
    s[0] += g - (std::sqrt(n) - std::sqrt(s[1])) * w / lr;
    s[1] = n;
    const A pull = sign(s[0]) * lamda1 - s[0];
    return std::abs(s[0]) > lamda1 ? pull / ((beta + std::sqrt(n)) / lr + wd) : A{0};
  }
};

template <class A>
struct Ftml {
  static constexpr int kStates = 3;
  A lr, wd, beta1, beta2, epsilon, correction1, correction2;
  Rescale<A> rescale;
  explicit Ftml(const FtmlParams& p)
      : lr(p.lr),
        wd(p.wd),
        beta1(p.beta1),
        beta2(p.beta2),
        epsilon(static_cast<A>(p.epsilon)),
        correction1(1 - std::pow(A(p.beta1), A(p.t))),
        correction2(1 - std::pow(A(p.beta2), A(p.t))),
        rescale(p.rescale_grad, p.clip_grad) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {  // d, v, z
    g = rescale.clip(rescale.scale * g + wd * w);
    s[1] = beta2 * s[1] + (1 - beta2) * g * g;
    const A d = correction1 / lr * (std::sqrt(s[1] / correction2) + epsilon);
    s[2] = beta1 * s[2] + (1 - beta1) * g - (d - beta1 * s[0]) * w;
    s[0] = d;
    return -s[2] / d;
  }
};

template <class A>
struct SignSgd {
  static constexpr int kStates = 0;
  A lr, wd;
  explicit SignSgd(const SignSgdParams& p) : lr(p.lr), wd(p.wd) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A*) const {
    return (1 - lr * wd) * w - lr * sign(g);
  }
};

template <class A>
struct Signum {
  static constexpr int kStates = 1;
  A lr, wd, momentum, wd_lh;
  Rescale<A> rescale;
  explicit Signum(const SignumParams& p)
      : lr(p.lr), wd(p.wd), momentum(p.momentum), wd_lh(p.wd_lh), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    s[0] = momentum * s[0] - (1 - momentum) * (wd * w + rescale(g));
    return (1 - lr * wd_lh) * w + lr * sign(s[0]);
  }
};

// The direction of LAMB's step; its length comes from norms over the whole tensor.
template <class A>
struct LambDirection {
  static constexpr int kStates = 2;
  A wd, beta1, beta2, epsilon, correction1 = 1, correction2 = 1;
  Rescale<A> rescale;
  template <class P>
  LambDirection(const P& p, A decay, int64_t t)
      : wd(decay), beta1(p.beta1), beta2(p.beta2), epsilon(p.epsilon), rescale(p) {
    if (p.bias_correction) {
      correction1 = 1 - std::pow(beta1, A(t));
      correction2 = 1 - std::pow(beta2, A(t));
    }
  }
  explicit LambDirection(const LambPhase1Params& p) : LambDirection(p, p.wd, p.t) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale(g);
    s[0] = beta1 * s[0] + (1 - beta1) * g;
    s[1] = beta2 * s[1] + (1 - beta2) * g * g;
    return s[0] / correction1 / (std::sqrt(s[1] / correction2) + epsilon) + wd * w;
  }
};

template <class A>
struct Adagrad {
  static constexpr int kStates = 1;
  A lr, wd, epsilon;
  Rescale<A> rescale;
  explicit Adagrad(const AdagradParams& p) : lr(p.lr), wd(p.wd), epsilon(p.epsilon), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale(g);
    s[0] += g * g;
    return w - lr * (g / std::sqrt(s[0] + epsilon) + wd * w);
  }
};

template <class A>
struct AdaDelta {
  static constexpr int kStates = 2;
  A rho, new_part, epsilon, wd;
  Rescale<A> rescale;
  explicit AdaDelta(const AdaDeltaParams& p)
      : rho(p.rho), new_part(1 - p.rho), epsilon(p.epsilon), wd(p.wd), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g,
                                                A* s) const {  // mean squares of gradients and steps
    g = rescale(g);
    s[0] = rho * s[0] + new_part * g * g;
    const A step = std::sqrt(s[1] + epsilon) / std::sqrt(s[0] + epsilon) * g;
    s[1] = rho * s[1] + new_part * step * step;
    return w - (step + wd * w);
  }
};

template <class A>
struct Adamax {
  static constexpr int kStates = 2;
  A lr, wd, beta1, new_part, beta2;
  Rescale<A> rescale;
  explicit Adamax(const AdamaxParams& p)
      : lr(p.lr), wd(p.wd), beta1(p.beta1), new_part(1 - p.beta1), beta2(p.beta2), rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {  // mean, largest
    g = rescale.clip(rescale.scale * g + wd * w);
    s[0] = beta1 * s[0] + new_part * g;
    const A kept = beta2 * s[1], size = std::abs(g);
    s[1] = kept > size ? kept : size;
    return s[1] == 0 ? w : w - lr * s[0] / s[1];
  }
};

template <class A>
struct Nadam {
  static constexpr int kStates = 2;
  A lr, wd, beta1, new_part1, beta2, new_part2, epsilon, grad_factor, mean_factor, variance_factor;
  Rescale<A> rescale;
  explicit Nadam(const NadamParams& p)
      : lr(p.lr),
        wd(p.wd),
        beta1(p.beta1),
        new_part1(1 - p.beta1),
        beta2(p.beta2),
        new_part2(1 - p.beta2),
        epsilon(p.epsilon),
        grad_factor(p.grad_factor),
        mean_factor(p.mean_factor),
        variance_factor(p.variance_factor),
        rescale(p) {}
  [[gnu::always_inline]] constexpr A operator()(A w, A g, A* s) const {
    g = rescale.clip(rescale.scale * g + wd * w);
    s[0] = beta1 * s[0] + new_part1 * g;
    s[1] = beta2 * s[1] + new_part2 * g * g;
    const A ahead = grad_factor * g + mean_factor * s[0];
    return w - lr * ahead / (std::sqrt(variance_factor * s[1]) + epsilon);
  }
};

// The rate of a layer by LARS, from the norms of weight and gradient.
template <class A, class P>
constexpr A lars_rate(const P& p, A lr, A wd, A weight_norm, A grad_norm) {
  const A scaled = lr * A(p.eta) * weight_norm / (grad_norm + wd * weight_norm + A(p.eps));
  return weight_norm > 0 && grad_norm > 0 ? scaled : lr;
}

// How long LAMB's step is, from the norms of weight and direction.
constexpr float lamb_rate(float lr, float weight_norm, float step_norm, float lower, float upper) {
  if (lower >= 0 && weight_norm < lower) weight_norm = lower;
  if (upper >= 0 && weight_norm > upper) weight_norm = upper;
  return weight_norm == 0 || step_norm == 0 ? lr : lr * weight_norm / step_norm;
}

}  // namespace loomix::ops::update
