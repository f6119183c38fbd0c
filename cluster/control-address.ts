/**
 * Control address: where the supervisor of a state directory listens. On Unix that is a socket in the directory. On Windows Node listens
 * on named pipes, which lie in no folder: there the file holds the name of the pipe. The name is random, so that no other user can create
 * it first. By Windows' default other users may read from the pipe; only its owner can write a request to it.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { createConnection } from 'node:net'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { isMainThread } from 'node:worker_threads'
import { fitsSocketAddress } from '../components/component-base/socket-address.ts'

/** The start of the names of pipes; empty where Node listens on sockets in folders. */
export function pipePrefixOf(platform: NodeJS.Platform): string {
  return platform === 'win32' ? String.raw`\\.\pipe\skiff-` : ''
}

export function newPipe(prefix: string): string {
  return `${prefix}${randomUUID()}`
}

/** The pipe that the file names; undefined for a socket, and for a file that is missing or empty. */
export function namedPipe(socketPath: string): string | undefined {
  const isFile = statSync(socketPath, { throwIfNoEntry: false })?.isFile() === true
  return isFile ? readFileSync(socketPath, 'utf8').trim() || undefined : undefined
}

/** Connects to what listens there. */
export function connectTo(socketPath: string): Socket {
  const pipe = namedPipe(socketPath)
  if (pipe !== undefined) return createConnection(pipe)
  if (fitsSocketAddress(socketPath)) return createConnection(socketPath)
  return isMainThread ? connectFromInside(socketPath) : connectOverLink(socketPath)
}

function connectFromInside(socketPath: string): Socket {
  const before = process.cwd()
  process.chdir(dirname(socketPath))
  try {
    return createConnection(basename(socketPath))
  } finally {
    process.chdir(before)
  }
}

/** A thread cannot change its folder: it connects over a link with a short path. */
export function connectOverLink(socketPath: string, temporary: string = tmpdir()): Socket {
  const folder = mkdtempSync(join(temporary, 's-'))
  try {
    const link = join(folder, 'c')
    symlinkSync(dirname(socketPath), link)
    return createConnection(join(link, basename(socketPath)))
  } finally {
    // The system has looked the path up: a connection to a socket is made, or has failed, at once.
    rmSync(folder, { recursive: true })
  }
}
