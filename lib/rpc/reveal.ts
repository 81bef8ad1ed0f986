import { currentRequest } from '#lib/base/context.ts'

/**
 * Whether the answer of the present call may show what identifies a person: the back office asks for it with `reveal`, and has
 * checked the right of its principal (O1, O11). Internal teams get it masked whatever they ask for.
 */
export function mayReveal(reveal: boolean): boolean {
  return reveal && currentRequest()?.caller === 'backoffice'
}
