import { PublicError } from '#lib/contract/errors/public-error.ts'
import type { RoleName } from '#lib/role/role.ts'

/** The answer of an owner. One that is unavailable is named in the refusal. */
export async function fromOwner<T>(role: RoleName, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!(error instanceof PublicError) || error.code !== 2002) throw error
    throw new PublicError(2002, { details: { description: role }, cause: error })
  }
}

/** Whether an error is one of these codes of the table. */
export function isRefusal(error: unknown, ...codes: readonly number[]): boolean {
  return error instanceof PublicError && codes.includes(error.code)
}
