import { titled } from '../methods/titled.ts'
import type { JsonSchema } from './json-schema.ts'

/** `payment.in` has `PaymentInRequest`. */
export function requestName(method: string): string {
  return `${titled(method, '')}Request`
}

/** `payment.in` has `PaymentInAnswer`: the whole body, not its `result` alone. */
export function answerName(method: string): string {
  return `${titled(method, '')}Answer`
}

/** The bodies of the failures with an HTTP status. */
export function failureName(status: number): string {
  return `Failure${status}`
}

/** Refers to what stands in the document under this name. */
export function reference(name: string, kind: 'schemas' | 'parameters' | 'headers' = 'schemas'): JsonSchema {
  return { $ref: `#/components/${kind}/${name}` }
}
