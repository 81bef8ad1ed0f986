import { join } from 'node:path'
import type { Config } from '#lib/base/config/config.ts'
import { KEY_SETTINGS } from '#lib/base/config/key-settings.ts'
import { RESEAL_PURPOSES, type ReadDocuments, type RoleOperations } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import type { Snapshot } from '#lib/store/maintenance.ts'
import { openRestoreTarget, openSnapshot, openStore, type StoreOptions } from '#lib/store/open.ts'
import type { CollectionSpec } from '#lib/store/store.ts'
import { PROCESS_SETTINGS } from '../app/process-settings.ts'
import { databaseOf } from '../app/roles.ts'
import type { CommandOutput } from '../app/run.ts'
import { withProgress } from './backup/frames.ts'

const LOAD: Readonly<Record<RoleName, () => Promise<{ readonly operations: RoleOperations }>>> = {
  sandbox: () => import('../services/sandbox/operations.ts'),
  merchants: () => import('../services/merchants/operations.ts'),
  balances: () => import('../services/balances/operations.ts'),
  notifier: () => import('../services/notifier/operations.ts'),
  payments: () => import('../services/payments/operations.ts'),
  attachments: () => import('../services/attachments/operations.ts'),
  support: () => import('../services/support/operations.ts'),
  gateway: () => import('../gateway/operations.ts'),
  backoffice: () => import('../services/backoffice/operations.ts'),
}

/** Loads what the commands need of these roles, in the order of `names`. */
export function loadOperations(names: readonly RoleName[]): Promise<readonly RoleOperations[]> {
  return Promise.all(names.map(async (name) => (await LOAD[name]()).operations))
}

/**
 * The order in which the databases are read where the server has no snapshots: a role comes after the roles that drop an
 * effect once this role has made it durable. docs/operators/backup.md has the reasons.
 */
export const BACKUP_ORDER: readonly RoleName[] = [
  'gateway',
  'payments',
  'support',
  'attachments',
  'notifier',
  'balances',
  'merchants',
  'backoffice',
  'sandbox',
]

const { mongodb_uri, system_name, start_wait_ms, home, archive } = PROCESS_SETTINGS

/** The settings of the commands that work on the databases of all roles. */
export const DATABASE_SETTINGS = { mongodb_uri, system_name, start_wait_ms, home, archive }

/** The settings of the commands that also need keys. */
export const VERIFY_SETTINGS = { ...DATABASE_SETTINGS, ...KEY_SETTINGS }

/** The purposes of the keys that the commands need: those under which their databases have something, and no others. */
export const COMMAND_PURPOSES = {
  backup: ['journal'],
  verify: ['credential', 'journal', 'audit'],
  restore: ['credential', 'journal', 'audit', 'person', 'search'],
  reseal: RESEAL_PURPOSES,
  archive: ['journal'],
} as const

/** Opens the databases of roles at the place that the settings of a command name. */
export function databasesOf(config: Config<typeof DATABASE_SETTINGS>) {
  const place = {
    mongodb_uri: config.mongodb_uri,
    directory: join(config.home, 'data'),
    start_wait: { limit_ms: config.start_wait_ms },
  }
  const nameOf = ({ name }: Pick<RoleOperations, 'name'>): string => databaseOf(config.system_name, name)
  return {
    nameOf,
    openStore: (role: RoleOperations, schema: NonNullable<StoreOptions['schema']>) =>
      openStore({ ...place, database: nameOf(role), schema }),
    /** Open it before the stores, whose writers it locks out for a moment. */
    openSnapshot: (roles: readonly RoleOperations[], consistency: Snapshot['consistency']) =>
      openSnapshot(place, roles.map(nameOf), consistency),
    openRestoreTarget: (roles: readonly RoleOperations[]) => openRestoreTarget(place, roles.map(nameOf)),
  }
}

/** Reads the collections of one database of a snapshot, and reports how far it is. */
export function readerOf(
  snapshot: Snapshot,
  database: string,
  printProgress: CommandOutput['printProgress'],
): ReadDocuments {
  return <D extends object>(spec: CollectionSpec) => {
    // The documents are what the role has stored under this declaration.
    const documents = snapshot.database(database).readDocuments(spec) as AsyncIterable<D>
    return withProgress(documents, (count) => printProgress(`${database}: ${spec.name}: ${count} read`))
  }
}
