import { readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { RoleName } from '#lib/role/role.ts'
import { openSnapshot, openStore } from '#lib/store/open.ts'
import { databaseOf } from '../app/roles.ts'
import type { CommandOutput } from '../app/run.ts'
import { loadOperations, placeOf } from './load-operations.ts'
import { readerOf, VERIFY_SETTINGS } from './verify.ts'

/** The roles that store secrets. Payments comes before the notifier, which gets the secrets of its events from there. */
export const SEALING_ROLES: readonly RoleName[] = ['merchants', 'payments', 'notifier']

/**
 * `node main.ts reseal`: encrypts all stored secrets again that are not under the newest master key, so that the older
 * keys can be removed. It may run while the system works, and be interrupted and repeated. Throws `StartError` when a
 * secret cannot be decrypted.
 */
export async function reseal(
  words: readonly string[],
  variables: Readonly<Record<string, string | undefined>>,
  { printLine, printProgress }: CommandOutput,
): Promise<void> {
  if (words.length > 0) throw new StartError(`${words[0]} is not a word of reseal: leave it out`)
  const config = readConfig(VERIFY_SETTINGS, variables)
  const place = placeOf(config)
  let [changed, left] = [0, 0]
  for (const role of await loadOperations(SEALING_ROLES)) {
    const database = databaseOf(config.system_name, role.name)
    // Before the store, whose writer it locks out for a moment.
    // Each document is changed by itself, however long they take together.
    const snapshot = await openSnapshot(place, [database], 'ordered')
    const store = await openStore({ ...place, database, schema: 'verify' })
    const readDocuments = readerOf(snapshot, database, printProgress)
    try {
      for await (const count of role.reseal?.(store, readDocuments, config.keyring) ?? []) {
        changed += count.changed
        left += count.left
        for (const failure of count.failures) printLine(`PROBLEM  ${role.name}: ${failure}`)
        printProgress(`${role.name}: ${count.collection}: ${count.changed} of ${count.read} encrypted again`)
      }
    } finally {
      await store.close()
      await snapshot.close()
    }
  }
  printLine(`${changed} documents were encrypted again under the newest master key, ${left} are left`)
  if (left > 0) throw new StartError('some secrets cannot be decrypted: add their master keys and repeat')
}
