#include "model/predict.h"
namespace ridge::model {
Outcome predict(const Attention&, const Execution&, const Machine&) { return NotModelled{"pending"}; }
}
