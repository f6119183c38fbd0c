/**
 * Clusters start one after the other, whatever test process starts them: a start keeps every core busy, so that several at once
 * take as long, and each of them much longer. For `globalSetup`.
 */
import { createServer, connect } from 'node:net'
import type { Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The socket that gives turns: whoever connects is written to when its turn begins, and ends it by closing. */
    startTurns: string
  }
}

/** A start that takes longer waits for something else than processor time, and must not hold up the others. */
const longestTurnMs = 20_000

let server: Server | undefined

export async function setup(project: TestProject): Promise<void> {
  // Windows has pipes in place of sockets in folders.
  const isWindows = process.platform === 'win32'
  const path = isWindows ? `\\\\.\\pipe\\turns-${process.pid}` : join(tmpdir(), 'turns')
  project.provide('startTurns', path)
  const waiting: Socket[] = []
  let current: Socket | undefined
  const next = (): void => {
    current = waiting.shift()
    if (current === undefined) return
    const own = current
    own.write('go')
    setTimeout(() => own.destroy(), longestTurnMs).unref()
  }
  server = createServer((socket) => {
    socket.on('error', () => {}) // 'close' follows
    socket.once('close', () => {
      if (socket === current) next()
      else if (waiting.includes(socket)) waiting.splice(waiting.indexOf(socket), 1)
    })
    waiting.push(socket)
    if (current === undefined) next()
  })
  const own = server
  await new Promise<void>((resolve) => own.listen(path, resolve))
}

export async function teardown(): Promise<void> {
  await new Promise((resolve) =>
    server === undefined ? resolve(undefined) : server.close(resolve),
  )
}

/** Waits for a turn. The turn ends when the result is called. */
export async function startTurn(): Promise<() => void> {
  const socket = connect(inject('startTurns'))
  await new Promise((resolve, reject) => socket.once('data', resolve).once('error', reject))
  socket.on('error', () => {}) // the turn was too long
  return () => socket.destroy()
}

/** Waits for a turn, and ends it with `start`. */
export async function inTurn<T>(start: () => Promise<T>): Promise<T> {
  const endTurn = await startTurn()
  try {
    return await start()
  } finally {
    endTurn()
  }
}
