import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { attachmentsFuzzSuite } from '../suites/attachments-fuzz.suite.ts'
import { mongodbForTests } from '../support/servers.ts'
import { unfinishedUploads } from '../support/unfinished-uploads.ts'
import { startFiles } from './attachments.fixture.ts'

const mongodb = await mongodbForTests()
const client = 'skip' in mongodb ? undefined : new MongoClient(mongodb.uri)
afterAll(async () => {
  await client?.close()
  if ('stop' in mongodb) await mongodb.stop()
})

attachmentsFuzzSuite('embedded files', async () => {
  const system = await startFiles()
  const directory = join(system.roles.directory, 'attachments', 'blobs', 'files')
  return {
    system,
    unfinished: async () => (await readdir(directory)).filter((name) => name.startsWith('.')).length,
  }
})

if ('skip' in mongodb || client === undefined)
  test.skip(`uploads on MongoDB: ${'skip' in mongodb ? mongodb.skip : ''}`, () => {})
else
  attachmentsFuzzSuite('MongoDB', async () => {
    const place = { mongodb: { uri: mongodb.uri, roles: ['attachments'] } } as const
    const system = await startFiles(undefined, place)
    const db = client.db(system.roles.databaseOf('attachments'))
    return { system, unfinished: () => unfinishedUploads(db) }
  })
