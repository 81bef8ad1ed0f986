import { currentRequest } from '#lib/base/context.ts'

/**
 * Whether the answer of the present call may show what identifies a person: the caller asks for it with `reveal`, and is the
 * operator (O11). Internal teams get it masked whatever they ask for.
 */
export function mayReveal(reveal: boolean): boolean {
  return reveal && currentRequest()?.caller === 'operator'
}
