/** Pulse: a process that accepts connections and does nothing is told from one that answers, and from none. */
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { completesHandshake } from '../../../cluster/supervisor/pulse.ts'
import { systemProcesses } from '../../../cluster/state/processes/system-processes.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'

/** A server of plain connections; it answers nothing by itself. */
async function listener(onConnection: (socket: Socket) => void): Promise<AddressInfo> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    onConnection(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return server.address() as AddressInfo
}

test('a process that accepts a connection and then does nothing does not answer', async () => {
  const clock = new FakeClock()
  const accepted = Promise.withResolvers<void>()
  const { port } = await listener(() => accepted.resolve())
  const answers = completesHandshake({ host: '127.0.0.1', port }, clock)
  await accepted.promise
  let outcome: boolean | undefined
  void answers.then((one) => (outcome = one))
  await clock.step(2999)
  expect(outcome).toBeUndefined()
  await clock.step(1)
  await settle()
  expect(outcome).toBe(false)
})

test('one that answers anything is not stuck, nor is one whose port is closed', async () => {
  const { port } = await listener((socket) => socket.end('no TLS here'))
  expect(await completesHandshake({ host: '127.0.0.1', port }, systemClock)).toBe(true)
  expect(await completesHandshake({ host: '127.0.0.1', port: 1 }, systemClock)).toBe(true)
})

test('a process that runs, or has ended, is not stopped by a signal', () => {
  expect(systemProcesses.isStopped(process.pid)).toBe(false)
  expect(systemProcesses.isStopped(2 ** 22 + 1)).toBe(false)
})
