import { create, toBinary } from '@bufbuild/protobuf'
import { expect, test } from '@jest/globals'
import { GetOverviewResponseSchema } from '#gen/multihub/backoffice/v1/overview_service_pb.ts'
import type { TestCli } from './cli.fixture.ts'
import { startScriptedDoor } from './scripted-door.fixture.ts'

/** `overview` and the commands that it prints. */
export function overviewSuite(cli: () => TestCli): void {
  test('every command that the overview prints exists, and the back office accepts it', async () => {
    await using scripted = await startScriptedDoor()
    const fields = GetOverviewResponseSchema.fields.filter(({ message }) => message?.name === 'OpenItems')
    const waiting = Object.fromEntries(fields.map(({ localName }) => [localName, { count: 1 }]))
    const overview = create(GetOverviewResponseSchema, waiting)
    scripted.answer = () => toBinary(GetOverviewResponseSchema, overview)
    const { out } = await scripted.run(cli().home, 'overview')
    const commands = [...out.matchAll(/multihub (.*)$/gm)].map(([, words = '']) => words.trim())
    const fields_shown = [...out.matchAll(/^1 /gm)].length
    expect(fields_shown).toBe(fields.length)
    expect(commands.length).toBeGreaterThan(fields.length)
    for (const words of commands) {
      const ended = await cli().run(words.split(' '))
      expect([words, ended.code, ended.err.replace(/^no .*\n$/, '')]).toEqual([words, 0, ''])
    }
    expect((await cli().run(['overview'])).out).toMatch(/WAITS FOR A PERSON[\s\S]*WAITS FOR A MACHINE/)
  })
}
