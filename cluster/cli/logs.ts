/** `skiff logs`: what the components wrote. Reads the files themselves, so it works when nothing runs. */
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync, watch } from 'node:fs'
import { join } from 'node:path'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { lastLines, readableLine } from '../log-tail.ts'
import { statePaths } from '../state-dir.ts'
import { defineCommand, nameFlag } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { styled } from './terminal.ts'

const flags = defineFlags({
  ...nameFlag,
  follow: flag.bool('Go on with what is written from now on, until Ctrl-C (-f).', false),
  tail: flag.int('How many last lines of each component.', 50),
  raw: flag.bool('Lines as they were written: JSON.', false),
})

/** Hands over what was appended to a file since it was last asked. */
function createFollower(path: string, onLine: (line: string) => void): () => void {
  let position = existsSync(path) ? sizeOf(path) : 0
  let rest = ''
  return () => {
    if (!existsSync(path)) return
    const size = sizeOf(path)
    if (size < position) position = 0
    if (size === position) return
    const file = openSync(path, 'r')
    const buffer = Buffer.alloc(size - position)
    const read = readSync(file, buffer, 0, buffer.length, position)
    closeSync(file)
    position += read
    const lines = (rest + buffer.toString('utf8', 0, read)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) onLine(line)
  }
}

function sizeOf(path: string): number {
  const file = openSync(path, 'r')
  try {
    return fstatSync(file).size
  } finally {
    closeSync(file)
  }
}

export const logs = defineCommand({
  name: 'logs',
  summary: 'Show what components logged',
  arguments: [{ name: 'COMPONENT', isOptional: true, isRepeated: true }],
  flags,
  handlesInterrupt: true,
  examples: [
    ['skiff logs node-1', 'One component'],
    ['skiff logs -f', 'All of them, as they write'],
    ['skiff logs --raw api-server | jq .message', 'JSON lines'],
  ],
  run: async ({ terminal, stateRoot, signal }, { flags: given, args }) => {
    const { logs: folder } = statePaths(stateRoot, given.name)
    if (!existsSync(folder)) {
      throw new ClusterError('not-found', `there is no cluster "${given.name}"`)
    }
    const existing = readdirSync(folder)
      .filter((file) => file.endsWith('.log'))
      .map((file) => file.slice(0, -'.log'.length))
      .toSorted()
    const unknown = args.find((name) => !existing.includes(name))
    if (unknown !== undefined) {
      const hint = `there are: ${existing.join(', ')}`
      throw new ClusterError('not-found', `there is no component "${unknown}"`, { hint })
    }
    const names = args.length > 0 ? args : existing
    const width = Math.max(...names.map((name) => name.length))
    const print = (name: string, line: string): void => {
      const label = styled(name.padEnd(width), 'cyan', terminal.outColors)
      const text = given.raw ? line : readableLine(line)
      terminal.out(names.length > 1 ? `${label} ${text}\n` : `${text}\n`)
    }
    const followers = names.map((name) => {
      const path = join(folder, `${name}.log`)
      const follow = createFollower(path, (line) => print(name, line))
      for (const line of lastLines(path, given.tail)) print(name, line)
      return follow
    })
    if (!given.follow) return exitCodes.ok
    const watcher = watch(folder, () => {
      for (const follow of followers) follow()
    })
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    watcher.close()
    return exitCodes.ok
  },
})
