import { expect, test } from '@jest/globals'
import { MongoClient } from 'mongodb'
import { openDatabase } from './connect.ts'

test('a handle without the concerns is refused', async () => {
  const client = new MongoClient('mongodb://127.0.0.1:1/?readConcernLevel=local')
  const forgetful = Object.assign(Object.create(client), { db: (name: string) => client.db(name) })
  expect(() => openDatabase(forgetful, 'test')).toThrow('does not have the concerns of the store')
  await client.close()
})

test.each([
  '',
  'readConcernLevel=local',
  'journal=false',
  'w=1',
  'w=0',
  'readPreference=secondaryPreferred',
  'readConcernLevel=available&journal=false&w=1&readPreference=nearest&wtimeoutMS=1',
])('options of the URI do not weaken the concerns: %j', async (options) => {
  const client = new MongoClient(`mongodb://127.0.0.1:1/?${options}`)
  const collection = openDatabase(client, 'test').collection('items')
  expect(collection.readConcern).toMatchObject({ level: 'majority' })
  expect(collection.writeConcern).toMatchObject({ w: 'majority', journal: true })
  expect(collection.readPreference).toMatchObject({ mode: 'primary' })
  await client.close()
})
