import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type CommandStartedEvent, MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { clock } from '#lib/base/time.ts'
import { HANG_LIMIT_MS } from '../../../test/support/hang-limit.ts'
import { mongodbForTests } from '../../../test/support/servers.ts'
import { parseLayout } from '../layout.ts'
import type { Collection } from '../store.ts'
import { createMongoCalls } from './calls.ts'
import { createCollection } from './collection.ts'
import { openDatabase } from './connect.ts'

const server = await mongodbForTests()

interface Note {
  readonly id: string
  readonly text: string
  readonly expires_at?: Date
}

if ('skip' in server) test.skip(`commands to MongoDB: ${server.skip}`, () => {})
else
  describe('commands to MongoDB', () => {
    const client = new MongoClient(server.uri, { monitorCommands: true })
    const database = openDatabase(client, `commands-${randomHex(6)}`)
    let notes: Collection<Note>
    let commands: CommandStartedEvent['command'][] = []

    beforeAll(async () => {
      await client.connect()
      client.on('commandStarted', ({ command }) => void commands.push(command))
      notes = createCollection<Note>({
        documents: database.collection('notes'),
        layout: parseLayout({ name: 'notes', partition: ['id'], key: ['id'], expires: 'expires_at' }),
        calls: createMongoCalls(client, HANG_LIMIT_MS, 10),
        now_ms: () => clock.now_ms(),
      })
    })
    afterAll(async () => {
      await database.dropDatabase()
      await client.close()
      await server.stop()
    })

    /** The commands that the driver sends while `work` runs. */
    async function commandsOf(work: () => Promise<unknown>): Promise<typeof commands> {
      commands = []
      await work()
      return commands
    }

    test.each<[string, (options: { linearizable: boolean }) => Promise<unknown>]>([
      ['get', (options) => notes.get({ id: 'a' }, options)],
      ['find', (options) => notes.find('key', { equals: ['a'] }, { limit: 1, ...options })],
    ])('of %s ask for a linearizable read only when the caller does', async (_name, read) => {
      for (const [linearizable, level] of [
        [true, 'linearizable'],
        [false, 'majority'],
      ] as const)
        expect(await commandsOf(() => read({ linearizable }))).toMatchObject([
          { find: 'notes', readConcern: { level }, maxTimeMS: expect.any(Number) },
        ])
    })

    test('of writes name the majority, the journal and a time limit', async () => {
      const sent = await commandsOf(async () => {
        const { version } = await notes.insert({ id: 'b', text: 'one' })
        const replaced = await notes.replace({ id: 'b', text: 'two' }, version)
        await notes.delete({ id: 'b' }, replaced.version)
      })
      const limits = {
        maxTimeMS: expect.any(Number),
        writeConcern: { w: 'majority', j: true, wtimeout: expect.any(Number) },
      }
      expect(sent).toMatchObject([
        { insert: 'notes', ...limits },
        { update: 'notes', ...limits },
        { delete: 'notes', ...limits },
      ])
    })

    test('of grouped inserts are one, with the same limits', async () => {
      const ids = ['d', 'e', 'f']
      const sent = await commandsOf(() =>
        Promise.all(ids.map((id) => notes.insert({ id, text: 'one' }, { is_grouped: true }))),
      )
      expect(sent).toMatchObject([
        {
          insert: 'notes',
          documents: ids.map((id) => ({ id })),
          ordered: false,
          maxTimeMS: expect.any(Number),
          writeConcern: { w: 'majority', j: true, wtimeout: expect.any(Number) },
        },
      ])
    })

    test('that replace an expired document have a time limit too', async () => {
      await notes.insert({ id: 'c', text: 'one', expires_at: new Date(0) })
      const sent = await commandsOf(() => notes.insert({ id: 'c', text: 'two' }))
      const limits = { maxTimeMS: expect.any(Number) }
      expect(sent).toMatchObject([
        { insert: 'notes', ...limits },
        { find: 'notes', ...limits },
        { delete: 'notes', ...limits },
        { insert: 'notes', ...limits },
      ])
    })
  })
