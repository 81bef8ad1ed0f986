import { sleep, withTimeout } from '#lib/base/time.ts'
import type { DataCheck, ReadDocuments } from '#lib/role/operations.ts'
import type { RoleName } from '#lib/role/role.ts'
import { createArchiveReader } from '#lib/store/archive/archive-reader.ts'
import { withArchive } from '#lib/store/archive/archived-collections.ts'
import { ADOPTING_ROLES, adoptLaterFacts } from '../../../operations/backup/adopt-later-facts.ts'
import { unmetRequirements } from '../../../operations/requirements.ts'
import { actIds } from '../invariants/acts.ts'
import { documentsOf } from '../invariants/judge.ts'
import { entriesOf } from '../invariants/ledger.ts'
import type { RenewableWatch } from '../invariants/watch.ts'
import { copyDocument } from '../parts/store/copy-document.ts'
import type { StoredBody } from '../parts/store/memory-collection.ts'
import { openSimulatedStore } from '../parts/store/store.ts'
import type { History } from '../workload/history.ts'
import type { SimulatedCredential, SimulatedMerchant } from '../workload/merchants.ts'
import { OWNED } from '../workload/registrar.ts'
import { ARCHIVE_DIRECTORY } from '../world/archive.ts'
import { MASTER_KEYS } from '../world/master-keys.ts'
import type { World } from '../world/world.ts'
import type { BackupKind, Plan } from './plan.ts'

/** The documents of a backup, by role and collection, and the bytes of uploads. */
interface Backup {
  readonly kind: BackupKind
  readonly contents: ReadonlyMap<RoleName, ReadonlyMap<string, readonly StoredBody[]>>
  readonly blobs: ReadonlyMap<string, Uint8Array>
  /** What answers had shown before it began: ids, and how many secrets of each credential. */
  readonly shown: ReadonlySet<string>
  readonly secrets: ReadonlyMap<SimulatedCredential, number>
  /** The acts and approvals of the operator that had ended. */
  readonly ended_acts: ReadonlySet<string>
}

/**
 * Copies all databases while the system runs: at one instant, or one collection after the other. The bytes of uploads are copied after the
 * documents, as `backup` does.
 */
async function takeBackup(
  world: World,
  kind: BackupKind,
  { history, merchants }: Pick<RestoreDeps, 'history' | 'merchants'>,
  replaced = (document: StoredBody): StoredBody => document,
): Promise<Backup> {
  const choices = world.choicesOf('backup')
  const pause_ms = kind === 'ordered' ? choices.pick([10, 100, 400]) : 0
  const shown = new Set(shownIds(history))
  const ended_acts = new Set(actIds(world.databases, 'ended'))
  const credentials = merchants.flatMap((merchant) => merchant.credentials)
  const secrets = new Map(credentials.map((credential) => [credential, credential.secrets.length]))
  world.trace.add(`an ${kind} backup begins`)
  const contents = new Map<RoleName, ReadonlyMap<string, readonly StoredBody[]>>()
  for (const { name: role } of world.restored_roles) {
    const collections = new Map<string, readonly StoredBody[]>()
    for (const { layout, all } of world.databases.get(role)?.collections() ?? []) {
      collections.set(
        layout.name,
        [...all()].map((document) => copyOf(replaced(document))),
      )
      if (pause_ms > 0) await sleep(choices.between(0, pause_ms))
    }
    contents.set(role, collections)
  }
  await sleep(choices.between(0, BYTES_AFTER_MAX_MS))
  const blobs = new Map(world.databases.get('attachments')?.blobs)
  world.trace.add('the backup is complete')
  return { kind, contents, blobs, shown, secrets, ended_acts }
}

/** How long after the documents the bytes of uploads are copied. */
const BYTES_AFTER_MAX_MS = 1_000

/**
 * A backup of the instant before a payment went to its next account; `undefined` when none does in time. What the account of
 * that attempt does then happens after the backup.
 */
async function takeBackupBetweenAttempts(
  world: World,
  deps: RestoreDeps,
  limit_ms: number,
): Promise<Backup | undefined> {
  const { watch } = deps
  const moved = Promise.withResolvers<Promise<Backup>>()
  watch.listener = (database, collection, { before, after }) => {
    if (`${database}.${collection}` !== 'payments.payments' || numberOf(before) >= numberOf(after)) return
    watch.listener = undefined
    const replaced = (document: StoredBody): StoredBody => (document === after && before ? before : document)
    moved.resolve(takeBackup(world, 'between attempts', deps, replaced))
  }
  const taken = await withTimeout(moved.promise, limit_ms)
  watch.listener = undefined
  return await taken
}

/** The number of the attempt of a payment; infinity for a new one, which has moved nowhere. */
function numberOf(body: StoredBody | undefined): number {
  const { attempt } = (body ?? {}) as { attempt?: { number: number } }
  return attempt?.number ?? Number.POSITIVE_INFINITY
}

function copyOf(document: StoredBody): StoredBody {
  return copyDocument<StoredBody>(document).document
}

const restoring = new WeakSet<World>()

/** Whether a system is being restored, and does not serve again yet. */
export function isRestoring(world: World): boolean {
  return restoring.has(world)
}

/** Longer than anything that was sent can be on its way, or slow at a store. */
const IN_FLIGHT_MS = 30_000

/** Shorter than the time that the system is stopped, and the minute in which "not found" proves nothing after that. */
const FOUND_AFTER_MS = 80_000

/**
 * Stops the whole system, fills its databases from a backup as `restore` does, and starts it again. The providers and the
 * receivers keep what they have. Returns the ids of the payments, refunds and chargebacks that the restored system does not
 * know any more, and what is wrong with the list of what `restore` could not add.
 */
async function restoreSystem(
  world: World,
  backup: Backup,
  { watch, history }: RestoreDeps,
): Promise<Omit<Restore, 'history_problems'>> {
  const reopen = world.cluster.shut()
  restoring.add(world)
  await sleep(IN_FLIGHT_MS)
  const before = new Set([...knownIds(world), ...bookedIds(world)])
  watch.mute()
  for (const {
    name: role,
    restoreDocument = (_name: string, document: object) => document,
  } of world.restored_roles)
    for (const { layout, reset } of world.databases.get(role)?.collections() ?? []) {
      const documents = (backup.contents.get(role)?.get(layout.name) ?? []).map(copyOf)
      // A role changes fields of its documents, and no version.
      const restored = documents.map((document) => restoreDocument(layout.name, document) as StoredBody)
      reset(restored.filter((document) => document !== undefined))
    }
  await restoreFiles(world, backup)
  const refused: string[] = []
  if (backup.kind === 'ordered') {
    const checks = await openChecks(world, ADOPTING_ROLES, (role, collection) =>
      (backup.contents.get(role)?.get(collection) ?? []).map(copyOf),
    )
    await adoptLaterFacts(checks, (role, subject, is_added) => {
      world.trace.add(`restore: ${role}: ${subject} ${is_added ? 'is added' : 'cannot be added'}`)
      if (!is_added) refused.push(subject)
    })
  }
  const problems = [...refusalProblems(world, refused), ...forget(world, backup, history)]
  for (const { name, afterRestore } of world.restored_roles) await afterRestore?.(openStore(world, name))
  const after = knownIds(world)
  watch.renew(world.databases)
  // A provider's own search may lag behind what was sent just before the system was stopped (P19).
  if (world.choicesOf('late search').chance(0.5)) world.provider_faults.found_after_ms = FOUND_AFTER_MS
  world.trace.add('the system is restored')
  const lost = new Set([...before].filter((id) => !after.has(id)))
  for (const operation of world.provider.operations())
    if (operation.idempotency_key.split(':').some((id) => lost.has(id))) operation.is_forgotten = true
  await reopen()
  restoring.delete(world)
  return { kind: backup.kind, lost, problems }
}

/** Puts the bytes of uploads back that the restored documents name. */
async function restoreFiles(world: World, { blobs }: Backup): Promise<void> {
  const role = world.restored_roles.find(({ openBlobCheck }) => openBlobCheck !== undefined)
  const files = role && world.databases.get(role.name)?.blobs
  if (files === undefined) return
  const isNeeded = await role?.openBlobCheck?.(openStore(world, role.name))
  files.clear()
  for (const [path, bytes] of blobs)
    if (await isNeeded?.(path.slice(path.lastIndexOf('/') + 1))) files.set(path, bytes)
}

/** The collections with what answers name. */
const ANSWERED: readonly (readonly [RoleName, readonly string[]])[] = [
  ['payments', ['payments']],
  ['support', ['tickets', 'refunds', 'chargebacks', 'ticket_comments', 'refund_comments']],
  ['attachments', ['attachments']],
  ['merchants', ['merchants', ...OWNED]],
]

/** The ids that answers have shown. */
function* shownIds({ payments, support, files, created }: History): Iterable<string> {
  for (const records of [payments, files]) for (const { h_id } of records.values()) if (h_id) yield h_id
  for (const ids of [support, created]) yield* ids.values()
}

/**
 * What was answered after the backup is unknown to the restored system, so that merchants and the operator forget it too. What was answered
 * before the backup began is in it (R10.1): yields what is not.
 */
function* forget(
  { databases }: World,
  { shown, secrets, ended_acts }: Backup,
  history: History,
): Iterable<string> {
  const stored = new Set<string>()
  for (const [role, collections] of ANSWERED)
    for (const collection of collections)
      for (const document of documentsOf<object>(databases, role, collection))
        for (const value of Object.values(document)) stored.add(String(value))
  for (const id of shown)
    if (!stored.has(id)) yield `${id} was answered before the backup, and is not restored`
  for (const answers of [history.support, history.created])
    for (const [name, id] of answers) if (!stored.has(id)) answers.delete(name)
  for (const [key, { merchant_id, purpose, number, content, h_id }] of history.files)
    if (h_id === undefined || !stored.has(h_id))
      history.files.set(key, { merchant_id, purpose, number, content })
  for (const [credential, count] of secrets) credential.secrets.length = count
  for (const id of actIds(databases, 'all')) if (!ended_acts.has(id)) history.late_acts.add(id)
}

/**
 * What is wrong with the list of what `restore` cannot add, which refuses a backup: it names each payment that the ledger has moved
 * money for and the backup does not have, and nothing else.
 */
function refusalProblems(world: World, refused: readonly string[]): readonly string[] {
  const known = knownIds(world)
  const entries = entriesOf(world).filter(({ refused_code }) => refused_code === undefined)
  const booked = new Set(entries.flatMap(({ payment_id }) => payment_id ?? []))
  const missing = [...booked].filter((id) => !known.has(id))
  return [
    ...missing.filter((id) => !refused.some((subject) => subject.includes(id))),
    ...refused.filter((subject) => !missing.some((id) => subject.includes(id))),
  ].map((subject) => `restore is wrong about what it cannot add: ${subject}`)
}

/** What a restore needs of the simulation. */
interface RestoreDeps {
  readonly history: History
  readonly watch: RenewableWatch
  readonly merchants: readonly SimulatedMerchant[]
}

/** What a restore in the middle of the load came to. */
export interface Restore {
  readonly kind: BackupKind
  /** The ids of the payments, refunds and chargebacks that were lost. */
  readonly lost: ReadonlySet<string>
  /** What is wrong with what `restore` reported. */
  readonly problems: readonly string[]
  /** How many contradictions merchants had seen before. What they saw proves nothing about the restored system. */
  readonly history_problems: number
}

/** Takes a backup during the load, lets the system go on for a while, and restores it. */
export async function restoreInLoad(
  world: World,
  { load_ms, restored_to }: Pick<Plan, 'load_ms'> & { readonly restored_to: BackupKind },
  deps: RestoreDeps,
): Promise<Restore> {
  const { history } = deps
  const choices = world.choicesOf('restore')
  const waits = restored_to === 'between attempts'
  const between = waits ? await takeBackupBetweenAttempts(world, deps, load_ms) : undefined
  if (!waits) await sleep(choices.between(0, load_ms))
  const backup = between ?? (await takeBackup(world, restored_to, deps))
  await sleep(choices.between(0, load_ms))
  const history_problems = history.problems.length
  return { ...(await restoreSystem(world, backup, deps)), history_problems }
}

/** What `verify` finds wrong, but for what belongs to payments that were lost with the restore. */
export async function* verifySystem(world: World, lost: ReadonlySet<string>): AsyncIterable<string> {
  const roles = world.restored_roles.map(({ name }) => name)
  const checks = await openChecks(world, roles, (role, collection) => [
    ...(world.databases.get(role)?.named(collection)?.all() ?? []),
  ])
  for (const [role, check] of checks) {
    for await (const problem of check.findProblems?.() ?? []) yield `verify finds ${role}: ${problem}`
    for await (const { requirement, finding } of unmetRequirements(check, checks))
      if (!lost.has(requirement.id)) yield `verify finds ${role}: ${requirement.subject} is ${finding}`
  }
}

async function openChecks(
  world: World,
  roles: readonly RoleName[],
  read: (role: RoleName, collection: string) => Iterable<object>,
): Promise<ReadonlyMap<RoleName, DataCheck>> {
  const checks = new Map<RoleName, DataCheck>()
  const { present, active } = world.master_keys
  const multihubMasterKeys = present.map((id) => MASTER_KEYS[id]).join(',')
  const variables = {
    ...world.variables,
    MULTIHUB_MASTER_KEYS: multihubMasterKeys,
    MULTIHUB_ACTIVE_KEY: active,
  }
  for (const { name, checkData } of world.restored_roles) {
    if (!roles.includes(name) || !world.databases.has(name)) continue
    // The documents are what the role has stored under this declaration.
    const readDocuments = async function* (spec: { readonly name: string }) {
      yield* read(name, spec.name)
    } as ReadDocuments
    const check = await checkData?.(
      withArchive(openStore(world, name), createArchiveReader(ARCHIVE_DIRECTORY)),
      readDocuments,
      variables,
      world.master_keys.keys(),
    )
    if (check) checks.set(name, check)
  }
  return checks
}

/** The store of a role for a command of the operator. Its commands never fail. */
function openStore({ databases, machine }: World, role: RoleName) {
  const database = databases.get(role)
  if (database === undefined) throw new TypeError(`the role ${role} has no simulated database`)
  return openSimulatedStore(
    database,
    async (_command, apply) => apply(undefined),
    () => new Date(machine.now_ms()),
  )
}

interface KnownPayment {
  readonly payment_id: string
  readonly refunds?: readonly { readonly refund_id: string }[]
  readonly chargebacks?: readonly { readonly chargeback_id: string }[]
}

function knownIds({ databases }: World): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const collection of ['payments', 'withdrawal_refusals'])
    for (const { payment_id, refunds = [], chargebacks = [] } of documentsOf<KnownPayment>(
      databases,
      'payments',
      collection,
    )) {
      ids.add(payment_id)
      for (const { refund_id } of refunds) ids.add(refund_id)
      for (const { chargeback_id } of chargebacks) ids.add(chargeback_id)
    }
  return ids
}

/** The payments that the ledger names. */
function bookedIds(world: World): readonly string[] {
  return entriesOf(world).flatMap(({ payment_id }) => payment_id ?? [])
}
