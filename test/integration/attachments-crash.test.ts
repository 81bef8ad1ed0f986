import { readdir } from 'node:fs/promises'
import { afterAll, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { randomHex } from '#lib/base/crypto/random.ts'
import { ROLES } from '#lib/role/role.ts'
import { bucketOf } from '#lib/store/mongodb/gridfs.ts'
import { attachmentsCrashSuite } from '../suites/attachments-crash.suite.ts'
import { mongodbForTests } from '../support/servers.ts'
import { startOneProcess } from '../support/system.ts'
import { unfinishedUploads } from '../support/unfinished-uploads.ts'

/** The longest lease of an effect or upload of a file. */
const LEASES_MS = 60_000

const mongodb = await mongodbForTests()
afterAll(async () => {
  if ('stop' in mongodb) await mongodb.stop()
})

attachmentsCrashSuite('embedded files', async (variables) => {
  const system = await startOneProcess(variables)
  const countNamed = async (part: string): Promise<number> => {
    const names = await readdir(system.home, { recursive: true })
    return names.filter((path) => path.includes(part)).length
  }
  return {
    system,
    endLeases: () => system.beDownFor(LEASES_MS),
    unfinished: () => countNamed('/files/.unfinished-'),
    blobsOf: (h_id) => countNamed(`/files/${h_id}-`),
    end: () => system.end(),
  }
})

if ('skip' in mongodb) test.skip(`a crash on MongoDB: ${mongodb.skip}`, () => {})
else
  attachmentsCrashSuite('MongoDB', async (variables) => {
    const system_name = `crash_${randomHex(4)}`
    const databases = { MULTIHUB_SYSTEM_NAME: system_name, MONGODB_URI: mongodb.uri }
    const system = await startOneProcess({ ...variables, ...databases })
    const client = new MongoClient(mongodb.uri)
    const db = client.db(`${system_name}_attachments`)
    const { files } = bucketOf(db, 'files')
    return {
      system,
      endLeases: async () => {},
      unfinished: () => unfinishedUploads(db),
      blobsOf: (h_id) => files.countDocuments({ filename: { $regex: `^${h_id}-` } }),
      async end() {
        await system.end()
        for (const role of ROLES) await client.db(`${system_name}_${role}`).dropDatabase()
        await client.close()
      },
    }
  })
