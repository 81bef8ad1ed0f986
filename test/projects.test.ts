import { expect, test } from '@jest/globals'
import { testFiles, testsOf } from './projects.ts'

test('a test file is of the project that its imports show', () => {
  const files = testFiles()
  expect(files.get('lib/base/ids.test.ts')).toBe('unit')
  expect(files.get('gateway/auth/refusal-order.test.ts')).toBe('unit')
  expect(files.get('gateway/http/server.test.ts')).toBe('system')
  expect(files.get('test/e2e/start.test.ts')).toBe('system')
  expect(files.get('lib/store/mongodb.test.ts')).toBe('servers')
  expect([...files.values()].filter((project) => project === 'unit').length).toBeGreaterThan(200)
  expect([...files.keys()].filter((path) => path.startsWith('proofs/updates/'))).toEqual([])
})

test('a change can break the tests that import the file or start a program that does', () => {
  const broken = testsOf(['gateway/limits/flood-limiter.ts'])
  expect(broken).toContain('gateway/limits/flood-limiter.test.ts')
  expect(broken).toContain('gateway/app.test.ts')
  expect(broken).toContain('test/e2e/start.test.ts')
  expect(broken).not.toContain('lib/base/ids.test.ts')
  expect(testsOf(['lib/base/ids.test.ts'])).toEqual(['lib/base/ids.test.ts'])
})

test('a change of a page, a vector or a manifest can break the tests that name it', () => {
  expect(testsOf(['docs/merchants/files.md'])).toContain('test/e2e/documented-commands.test.ts')
  expect(testsOf(['docs/operators/kubernetes.md'])).toContain('deploy/kubernetes-page.test.ts')
  expect(testsOf(['docs/merchants/openapi.json'])).toContain('test/e2e/openapi.test.ts')
  expect(testsOf(['test/vectors/callback.json'])).toContain('test/vectors/production.test.ts')
  expect(testsOf(['deploy/components/scanner/clamd.conf'])).toContain(
    'test/integration/attachments-clamd.test.ts',
  )
})
