import { Conflict } from '#lib/store/errors.ts'
import type { Collection, Stored } from '#lib/store/store.ts'
import { trustedClock } from '../../../test/support/clock-guard.ts'
import { createRunStore, type RunDocument, type Runs, startRuns } from './runs.ts'

/** How a process reaches the store. */
export interface Reach {
  is_cut_off: boolean
  /** While it is set the process is stopped, as by SIGSTOP: no call of it is sent. */
  held: Promise<void> | undefined
  /** While it is set its readings do not end. */
  slow_reading: Promise<void> | undefined
  /** What a former primary answers to its readings. */
  former_primary: readonly Stored<RunDocument>[] | undefined
}

/** The heartbeats of one role in a shared store, which a test makes fail. */
export class Heartbeats {
  readonly documents = new Map<string, Stored<RunDocument>>()
  readonly calls: string[] = []
  is_down = false
  /** The replacements under way, and the most that were. */
  replacing = { now: 0, most: 0 }
  #versions = 0

  /** The store as one process reaches it. */
  reach({ isAlone = (): boolean => false } = {}) {
    const process: Reach = {
      is_cut_off: false,
      held: undefined,
      slow_reading: undefined,
      former_primary: undefined,
    }
    const call = async (name: string): Promise<void> => {
      this.calls.push(name)
      await process.held
      if (this.is_down || process.is_cut_off) throw new Error('no primary')
    }
    const put = (document: RunDocument): Stored<RunDocument> => {
      this.#versions += 1
      const stored = { ...document, version: this.#versions }
      this.documents.set(document.address, stored)
      return stored
    }
    const assertVersion = (address: unknown, version: number): void => {
      if (this.documents.get(String(address))?.version !== version) throw new Conflict('another version')
    }
    const collection: Collection<RunDocument> = {
      get: async ({ address }) => {
        await call('get')
        return this.documents.get(String(address))
      },
      find: async () => {
        await call('find')
        await process.slow_reading
        return [...(process.former_primary ?? this.documents.values())]
      },
      insert: async (document) => {
        await call('insert')
        return put(document)
      },
      replace: async (document, version) => {
        this.replacing.now += 1
        this.replacing.most = Math.max(this.replacing.most, this.replacing.now)
        await call('replace').finally(() => {
          this.replacing.now -= 1
        })
        assertVersion(document.address, version)
        return put(document)
      },
      delete: async ({ address }, version) => {
        await call('delete')
        assertVersion(address, version)
        this.documents.delete(String(address))
      },
      count: () => Promise.reject(new Error('nothing is counted')),
    }
    const start = (clock_guard = trustedClock): Promise<Runs> =>
      startRuns(createRunStore(collection, 'orders', { isAlone }), clock_guard)
    return Object.assign(process, { start })
  }
}
