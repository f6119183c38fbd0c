/** Documentation: every step, field, command, flag and exit code that exists is described. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { clusterCommands } from '../../cluster/cli/commands.ts'
import { describeExitCodes } from '../../cluster/cli/exit-codes.ts'
import { stepKinds } from '../../scenarios/engine/scenario.ts'
import { scenarioCommands } from '../../scenarios/engine/scenario-command.ts'

const doc = (name: string): string =>
  readFileSync(join(import.meta.dirname, '..', '..', 'docs', name), 'utf8').replaceAll(/ +/g, ' ')

test('docs/scenarios.md names every step and each of its fields', () => {
  const text = doc('scenarios.md')
  expect(stepKinds.length).toBeGreaterThanOrEqual(18)
  for (const { name, shape } of stepKinds) {
    expect(text).toContain(`| \`${name}\` |`)
    for (const field of Object.keys(shape.fields ?? {})) expect(text).toContain(`\`${field}\``)
  }
})

test('docs/cli.md names every command, every flag of up, and every exit code', async () => {
  const text = doc('cli.md')
  const entries = [...clusterCommands, { name: 'scenario', load: async () => scenarioCommands() }]
  for (const entry of entries) {
    expect(text).toContain(`| \`${entry.name}`)
    for (const command of await entry.load()) {
      const last = command.name.split(' ').at(-1) ?? ''
      expect(text).toMatch(new RegExp(`\`(${entry.name} )?${last}[\` ]`))
      if (command.name !== 'up') continue
      for (const flag of Object.keys(command.flags)) expect(text).toContain(`--${flag}`)
    }
  }
  for (const line of describeExitCodes().trim().split('\n')) {
    const [code = '', ...meaning] = line.trim().split(/\s+/)
    expect(text).toContain(`| ${code} | ${meaning.join(' ')} |`)
  }
})
