import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { identify } from '../../cluster/state/process-identity.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const base = resolve('components/component-base')
const folder = temporaryFolder('component')

/** A program of one component whose `run` is the given text. */
function program(run: string): string {
  const path = join(folder, `${Math.random()}.ts`)
  writeFileSync(
    path,
    `import { runComponent, StartError } from '${base}/component.ts'
import { defineFlags, flag } from '${base}/flags.ts'
void StartError
await runComponent({
  name: 'sample',
  description: 'A sample.',
  examples: ['sample --port=1'],
  flags: defineFlags({
    port: flag.int('The port.', 5),
    gate: flag.int('The old port.', 5, { deprecated: 'use --port.' }),
  }),
  run: async ({ options, signal, log, ready }) => { void options, signal, log, ready; ${run} },
})
`,
  )
  return path
}

function start(run: string, args: string[] = [], withReadyPipe = true) {
  const child = spawn(process.execPath, [program(run), ...args], {
    stdio: ['ignore', 'pipe', 'pipe', ...(withReadyPipe ? (['pipe'] as const) : [])],
  })
  const text = { out: '', err: '', ready: '' }
  child.stdout?.on('data', (chunk: Buffer) => (text.out += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (text.err += chunk.toString()))
  child.stdio[3]?.on('data', (chunk: Buffer) => (text.ready += chunk.toString()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, text, ended }
}

const untilStopped = `await new Promise((resolve) => signal.addEventListener('abort', resolve))`

describe('runComponent', () => {
  it('tells readiness on descriptor 3 and ends cleanly on TERM', async () => {
    const { child, text, ended } = start(`ready({ port: options.port }); ${untilStopped}`, [
      '--port=7',
    ])
    await expect.poll(() => text.ready).toBe('{"ready":true,"port":7}\n')
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
    expect(text.err).toContain('"message":"stopped"')
  })

  it('[VER-039][VER-040] warns of deprecated flags on standard error, unless it is told not to', async () => {
    const run = 'process.stdout.write(String(options.gate))'
    const loud = start(run, ['--gate=7'])
    expect(await loud.ended).toBe(0)
    expect(loud.text.out).toBe('7')
    const [line = ''] = loud.text.err.split('\n')
    expect(JSON.parse(line)).toMatchObject({
      level: 'warn',
      message: 'Flag --gate has been deprecated, use --port.',
    })
    const quiet = start(run, ['--gate=7', '--deprecation-warnings=false'])
    expect(await quiet.ended).toBe(0)
    expect(quiet.text.out).toBe('7')
    expect(quiet.text.err).not.toContain('deprecated')
    const unused = start(run)
    expect(await unused.ended).toBe(0)
    expect(unused.text.err).not.toContain('deprecated')
  })

  it('reports the system code of a failed start on descriptor 3', async () => {
    const { text, ended } = start(`
      const { readFileSync } = await import('node:fs')
      try { readFileSync('/nonexistent/file') } catch (error) { throw new StartError('no file', error) }
    `)
    expect(await ended).toBe(1)
    expect(text.ready).toBe('{"failed":true,"systemCode":"ENOENT"}\n')
    expect(text.err).toContain('sample: no file')
  })

  it('runs without descriptor 3 too', async () => {
    const { child, text, ended } = start(`ready(); ${untilStopped}`, [], false)
    await expect.poll(() => text.err).toContain('"message":"ready"')
    child.kill('SIGINT')
    expect(await ended).toBe(0)
  })

  it('a second signal ends a component that does not stop', async () => {
    const { child, text, ended } = start(
      `ready(); setInterval(() => {}, 1000); await new Promise(() => {})`,
    )
    await expect.poll(() => text.ready).not.toBe('')
    child.kill('SIGTERM')
    await expect.poll(() => text.err).toContain('"stopping"')
    child.kill('SIGTERM')
    expect(await ended).toBe(1)
  })

  it('ends in good order at once when the process that holds its channel is gone, though nobody reads its log', async () => {
    const script = program(
      `ready(); ${untilStopped}; writeFileSync(options.config ?? '', 'in good order')`,
    )
    writeFileSync(
      script,
      `import { writeFileSync } from 'node:fs'\n${readFileSync(script, 'utf8')}`,
    )
    const note = join(folder, 'note.json')
    writeFileSync(note, '{}')
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `const { spawn } = require('node:child_process')
        const child = spawn(process.execPath, ${JSON.stringify([script, `--config=${note}`])},
          { stdio: ['ignore', 'ignore', 'pipe', 'ignore', 'ipc'], detached: true })
        child.stderr.on('data', (data) => {
          if (String(data).includes('"ready"')) process.stdout.write(child.pid + '\\n')
        })`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    const [data] = (await once(parent.stdout, 'data')) as [Buffer]
    parent.kill('SIGKILL')
    await expect.poll(() => readFileSync(note, 'utf8')).toBe('in good order')
    await expect.poll(() => identify(Number(data.toString()))).toBeUndefined()
  })

  it('a failure is one clear line and code 1', async () => {
    const { text, ended } = start(`throw new StartError('cannot start', new Error('no disk'))`)
    expect(await ended).toBe(1)
    expect(text.err).toBe('sample: cannot start: no disk\n')
  })

  it('bad flags are one clear line and code 2', async () => {
    const { text, ended } = start('', ['--prt=1'])
    expect(await ended).toBe(2)
    expect(text.err).toBe('sample: unknown flag --prt; did you mean --port? (see --help)\n')
  })

  it('an unhandled rejection is logged and ends the process', async () => {
    const { text, ended } = start(`void Promise.reject(new Error('forgotten')); ${untilStopped}`)
    expect(await ended).toBe(1)
    expect(text.err).toContain('forgotten')
  })

  it('--help shows examples and flags', async () => {
    const { text, ended } = start('', ['--help'])
    expect(await ended).toBe(0)
    expect(text.out).toContain('Examples:\n  sample --port=1')
    expect(text.out).toContain('--port int\n      The port. (default 5)')
    expect(text.out).toContain('--config')
  })
})
