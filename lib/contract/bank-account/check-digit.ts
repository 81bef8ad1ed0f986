/**
 * The check digit that makes the weighted sum of all digits a multiple of 10. `weights` repeat when there are more
 * digits. CLABE and CBU both end their parts with such a digit; their weights are coprime to 10, so that every error in one
 * digit is found.
 */
export function weightedCheckDigit(digits: string, weights: readonly number[]): string {
  let sum = 0
  for (let index = 0; index < digits.length; index += 1)
    sum += Number(digits[index]) * (weights[index % weights.length] ?? 0)
  return String((10 - (sum % 10)) % 10)
}
