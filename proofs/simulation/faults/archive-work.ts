import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import type { Archivable, ReadDocuments } from '#lib/role/operations.ts'
import { ARCHIVING_ROLES } from '../../../operations/archive/archive.ts'
import {
  archiveCollection,
  checkStubs,
  forgetFiles,
  restoreStubs,
} from '../../../operations/archive/archived-collection.ts'
import { listArchivable } from '../../../services/balances/verification/archivable-batches.ts'
import { ARCHIVE_COMMAND } from '../invariants/whole-watch.ts'
import { createProcess } from '../parts/simulated-process.ts'
import { openSimulatedStore } from '../parts/store/store.ts'
import { ARCHIVE_DIRECTORY } from '../world/archive.ts'
import type { World } from '../world/world.ts'

/** What a run of the command does. */
export type ArchiveTask = { readonly before: Date } | 'check' | 'restore'

/** A run of the command `archive`, in a process of its own. */
export interface ArchiveRun {
  /** The number of its problems; `undefined` when a server or the archive has failed it. Never resolves after a kill. */
  readonly problems: Promise<number | undefined>
  kill(): void
}

/** Of each shard so many batches stay whole. The product keeps more than a simulation has. */
const KEPT_WHOLE = 1n

/** Starts the command, as its process does once it has read its settings. */
export function startArchive(world: World, task: ArchiveTask): ArchiveRun {
  const { machine, trace } = world
  const process = createProcess(ARCHIVE_COMMAND, { offset_ms: 0, rate: 1 })
  trace.add(`archive begins: ${JSON.stringify(task)}`)
  const problems = machine.runIn(process, async () => {
    try {
      let sum = 0
      for (const role of world.restored_roles)
        if (ARCHIVING_ROLES.includes(role.name))
          for (const archivable of role.archives ?? [])
            sum += await runTask(world, { role, archivable }, task)
      return sum
    } catch (error) {
      // A server, or the file system of the archive.
      if (error instanceof Unavailable || (error instanceof Error && 'code' in error)) return undefined
      throw error
    }
  })
  return {
    problems,
    kill() {
      trace.add('archive is killed')
      process.is_alive = false
    },
  }
}

/** What a task is done with: a role and one of its collections. */
interface Subject {
  readonly role: World['restored_roles'][number]
  readonly archivable: Archivable
}

async function runTask(world: World, { role, archivable }: Subject, task: ArchiveTask): Promise<number> {
  const { databases, stores, machine, master_keys, trace } = world
  const database = databases.get(role.name)
  if (database === undefined) return 0
  const store = openSimulatedStore(database, stores.carry, () => new Date(machine.now_ms()))
  // The documents are what the role has stored under this declaration.
  const readDocuments = async function* (spec: { readonly name: string }) {
    yield* [...(database.named(spec.name)?.all() ?? [])]
  } as ReadDocuments
  const printLine = (line: string): void => trace.add(`archive: ${line}`)
  const output = { printLine, printProgress: () => {} }
  const subject = { role, store, output, directory: ARCHIVE_DIRECTORY }
  if (task === 'check') return await checkStubs({ ...subject, archivable }, readDocuments)
  if (task === 'restore') {
    const problems = await restoreStubs({ ...subject, archivable }, readDocuments)
    if (problems === 0) await forgetFiles({ ...subject, archivable }, readDocuments)
    return problems
  }
  const keys = master_keys.keys()
  await archiveCollection({ ...subject, archivable: keepingFew(archivable), before: task.before, keys })
  return 0
}

function keepingFew(archivable: Archivable): Archivable {
  if (archivable.spec.name !== 'journal') return archivable
  return {
    ...archivable,
    list: (store, before, { journal }) => listArchivable(store, before, journal, KEPT_WHOLE),
  }
}
