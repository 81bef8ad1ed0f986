/** Why a test is skipped. */
export interface Skip {
  readonly skip: string
}

/**
 * Says that tests are skipped without something that this machine does not have: a server, a program, a right. With
 * MULTIHUB_CI=1 it throws instead: CI must not pass because it skipped.
 */
export function skipWithout(reason: string): Skip {
  if (process.env['MULTIHUB_CI'] === '1') throw new Error(`${reason} (MULTIHUB_CI is set)`)
  process.stderr.write(`skipped: ${reason}\n`)
  return { skip: reason }
}
