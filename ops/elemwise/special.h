// SPDX-License-Identifier: Apache-2.0
#pragma once

// Special functions that the C++ library lacks or that are not safe to call from several threads. Relative error
// below 1e-14 away from their zeros.
namespace loomix::ops::special {

double erfinv(double x);  // NaN outside [-1, 1]
double gamma(double x);
double gammaln(double x);
double digamma(double x);
double trigamma(double x);

}  // namespace loomix::ops::special
