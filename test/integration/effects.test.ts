import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, test } from '@jest/globals'
import { randomHex } from '#lib/base/crypto/random.ts'
import { effectsSuite } from '../suites/effects.suite.ts'
import { mongodbForTests } from '../support/servers.ts'

const folder = await mkdtemp(join(tmpdir(), 'multihub-effects-'))
const mongodb = await mongodbForTests()

afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
  if ('stop' in mongodb) await mongodb.stop()
})

effectsSuite('embedded', async () => ({ database: `test_${randomHex(6)}`, directory: folder }))

if ('skip' in mongodb) test.skip(`effects on mongodb: ${mongodb.skip}`, () => {})
else effectsSuite('mongodb', async () => ({ database: `test_${randomHex(6)}`, mongodb_uri: mongodb.uri }))
