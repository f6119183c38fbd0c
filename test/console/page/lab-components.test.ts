/** Components of the Lab: what can be done with each. Pure parts of the page. */
import { expect, test } from 'vitest'
import {
  actionsOf,
  inOrder,
  needsConfirmation,
} from '../../../console/page/views/lab/component-actions.ts'
import { jsonLines } from '../../../console/page/views/lab/json-lines.ts'
import type { ComponentRow } from '../../../console/protocol/live.ts'

const row = (name: string, program: string, state: string): ComponentRow => ({
  ...{ name, program, state, restarts: 0, sinceMs: 0 },
})

test('a component has the actions that its state allows', () => {
  const of = (state: string, program = 'scheduler') => actionsOf(row('x', program, state))
  expect(of('ready')).toEqual(['kill', 'pause', 'restart', 'stop'])
  expect(of('paused')).toEqual(['resume', 'kill', 'restart', 'stop'])
  expect(of('stopped')).toEqual(['start'])
  expect(of('stopping')).toEqual([])
  expect(of('ready', 'node-agent')).toContain('remove')
})

test('the console has no actions: it could not answer', () => {
  expect(actionsOf(row('console', 'console', 'ready'))).toEqual([])
})

test('only killing an API server asks first', () => {
  expect(needsConfirmation(row('api-server-2', 'api-server', 'ready'), 'kill')).toBe(true)
  expect(needsConfirmation(row('api-server', 'api-server', 'ready'), 'restart')).toBe(false)
  expect(needsConfirmation(row('scheduler', 'scheduler', 'ready'), 'kill')).toBe(false)
})

test('the control plane comes before nodes, and node-2 before node-10', () => {
  const rows = [
    row('node-10', 'node-agent', 'ready'),
    row('node-2', 'node-agent', 'ready'),
    row('scheduler', 'scheduler', 'ready'),
  ]
  expect(inOrder(rows).map(({ name }) => name)).toEqual(['scheduler', 'node-2', 'node-10'])
})

test('JSON lines are read whole, however their bytes come, and in any script', async () => {
  const bytes = new TextEncoder().encode('{"a":"ä"}\n{"b":2}\n{"cut')
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start: (controller) => {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
      controller.close()
    },
  })
  const values: unknown[] = []
  for await (const value of jsonLines(stream)) values.push(value)
  expect(values).toEqual([{ a: 'ä' }, { b: 2 }])
})
