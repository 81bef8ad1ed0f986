/** The name of a method as part of other names: `payment.in` is `Payment-In` in headers, `PaymentIn` in schemas. */
export function titled(method: string, between_words: '-' | ''): string {
  const words = method.split('.').map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return words.join(between_words)
}
