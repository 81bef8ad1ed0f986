import { readConfig } from '#lib/base/config/config.ts'
import { StartError } from '#lib/base/start-error.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { Command } from '../app/run.ts'
import { databasesOf, loadOperations, readerOf, VERIFY_SETTINGS } from './databases.ts'

/** The roles that store secrets. Payments comes before the notifier, which gets the secrets of its events from there. */
export const SEALING_ROLES: readonly RoleName[] = ['merchants', 'payments', 'notifier']

/**
 * `node main.ts reseal`: encrypts all stored secrets again that are not under the newest master key, so that the older
 * keys can be removed. It may run while the system works, and be interrupted and repeated. Throws `StartError` when a
 * secret cannot be decrypted.
 */
export const reseal: Command = async (words, variables, { printLine, printProgress }) => {
  if (words.length > 0) throw new StartError(`${words[0]} is not a word of reseal: leave it out`)
  const config = readConfig(VERIFY_SETTINGS, variables)
  const databases = databasesOf(config)
  let [changed, left] = [0, 0]
  for (const role of await loadOperations(SEALING_ROLES)) {
    // Each document is changed by itself, however long they take together.
    const snapshot = await databases.openSnapshot([role], 'ordered')
    const store = await databases.openStore(role, 'verify')
    const readDocuments = readerOf(snapshot, databases.nameOf(role), printProgress)
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
