/** An example as its reader has it: a copy, with the built package beside it, and a home of Skiff of its own. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { processesOf } from '../support/run-folder.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const root = join(import.meta.dirname, '..', '..')
/** What a reader's builds leave in the folder. */
const built = ['node_modules', 'target', '.venv', '__pycache__', '.pytest_cache']

/** What `--parent` promises of a runner that is killed. It takes a second on a machine under load. */
export const goneWithinMs = 5_000

export interface Ended {
  readonly code: number | null
  /** Standard output and standard error as they came. */
  readonly output: string
}

export interface RunningProgram {
  /** Its process; a test that kills it waits for `ended`. */
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  /** Resolves as soon as the output matches. Rejects if the program ends before. */
  says(pattern: RegExp): Promise<void>
}

export interface Example {
  readonly folder: string
  /** Where its clusters keep their state. */
  readonly stateRoot: string
  /** Starts a program in the folder. It finds `kube-skiff` as after `npm install`. */
  start(program: string, words: readonly string[]): RunningProgram
  /** Runs a program in the folder to its end. */
  run(program: string, words: readonly string[]): Promise<Ended>
  /** Processes that the programs have left, and the folder of their clusters if it is there. */
  leftovers(): string[]
}

/** Without what npm tells its scripts, since a reader starts the suite in a shell. */
function environment(more: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:npm_|VITEST)/.test(name))
  return { ...Object.fromEntries(own), NO_COLOR: '1', ...more }
}

interface CopyOptions {
  /** Packages of this checkout that `npm install` would bring beside `kube-skiff`. */
  readonly packages?: readonly string[]
  /** Other examples that it needs beside it. */
  readonly beside?: readonly string[]
  /** Name of the folder around it; default: its own. */
  readonly within?: string
}

/** Copies the example of that name. The copy goes with the test file. */
export function copyExample(name: string, options: CopyOptions = {}): Example {
  const { packages = [], beside = [], within = name } = options
  const place = temporaryFolder(within)
  const folder = join(place, name)
  const [state, tmp, modules] = ['state', 'tmp', 'node_modules'].map((one) => join(place, one)) as [
    string,
    string,
    string,
  ]
  for (const one of [tmp, join(modules, '.bin')]) mkdirSync(one, { recursive: true })
  for (const one of [name, ...beside])
    cpSync(join(root, 'examples', one), join(place, one), {
      recursive: true,
      filter: (path) => !built.includes(basename(path)),
    })
  symlinkSync(root, join(modules, 'kube-skiff'))
  symlinkSync('../kube-skiff/bin/skiff.js', join(modules, '.bin', 'kube-skiff'))
  for (const one of packages) symlinkSync(join(root, 'node_modules', one), join(modules, one))

  const start: Example['start'] = (program, words) => {
    const child = spawn(program, words, {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: environment({ TMPDIR: tmp, XDG_STATE_HOME: state, npm_config_cache: join(tmp, 'npm') }),
    })
    let output = ''
    const listeners = new Set<() => void>()
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
        for (const listen of listeners) listen()
      })
    const ended = new Promise<Ended>((resolve, reject) => {
      child.once('error', reject).once('close', (code) => {
        resolve({ code, output: stripVTControlCharacters(output) })
      })
    })
    const says: RunningProgram['says'] = (pattern) =>
      new Promise((resolve, reject) => {
        const listen = (): void => {
          if (pattern.test(stripVTControlCharacters(output))) resolve()
        }
        listeners.add(listen)
        listen()
        ended.then(() => reject(new Error(`it never said ${pattern}:\n${output}`)), reject)
      })
    return { process: child, ended, says }
  }
  const stateRoot = join(state, 'skiff')
  return {
    folder,
    stateRoot,
    start,
    run: (program, words) => start(program, words).ended,
    leftovers: () => [...processesOf(place), ...(existsSync(stateRoot) ? [stateRoot] : [])],
  }
}
