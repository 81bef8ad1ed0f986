/** `PaymentStatus` as `paymentStatus`. */
export function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}

/** `paymentStatus` as `PaymentStatus`. */
export function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** `payment.status` or `PaymentStatus` as `payment_status`. */
export function snakeCase(name: string): string {
  return name
    .replaceAll('.', '_')
    .replace(/(?<!^)(?=[A-Z])/g, '_')
    .toLowerCase()
}
