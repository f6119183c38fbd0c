/**
 * Reader's shell: one shell in a home of its own, in which a reader of the documentation types what it says. `npx kube-skiff`
 * and `skiff` are this checkout's; `npm ci` and the installation of Skiff do nothing, because they have been done.
 */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { pathsIn } from '../../cluster/state/state-dir.ts'
import { removeCluster } from '../../cluster/take-down.ts'
import { systemClock } from '../../components/component-base/clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { root } from './markdown.ts'

export interface Typed {
  readonly code: number
  /** Standard output and standard error as they came. */
  readonly output: string
}

export interface ReaderShell extends AsyncDisposable {
  readonly home: string
  /** Runs one command line in the shell. Rejects, and ends the shell, when it takes longer. */
  type(command: string, timeoutMs: number): Promise<Typed>
  /** The clusters that there are. */
  clusters(): string[]
}

/** The folder of the real kubectl, or undefined: the caller has to say so. */
export function findKubectl(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders.map((folder) => join(folder, 'kubectl')).find((path) => existsSync(path))
}

/** Programs that stand for an installation; the first folder of the shell's PATH. */
function shims(): Readonly<Record<string, string>> {
  const node = `'${process.execPath}'`
  const skiff = `exec ${node} '${join(root, 'bin', 'skiff.js')}' "$@"`
  return {
    skiff,
    npx: `export npm_command=exec npm_lifecycle_event=npx\nname=$1; shift\ncase $name in\nkube-skiff) ${skiff} ;;\nnode) exec ${node} "$@" ;;\nvitest) exec ${node} '${join(root, 'node_modules/vitest/vitest.mjs')}' "$@" ;;\nesac\necho "npx $name is not in the shell of this test" >&2; exit 127`,
    npm: `case "$*" in ci|'install --save-dev kube-skiff'|'install --global kube-skiff') exit 0 ;; esac\necho "npm $* is not in the shell of this test" >&2; exit 127`,
  }
}

/**
 * A new shell. Disposing takes down every cluster in its home and removes it. So does the shell itself when whoever opened
 * it is killed: it then reads the end of its input.
 */
export function openReaderShell(): ReaderShell {
  const place = temporaryFolder('docs')
  const [home, bin, checkout] = ['home', 'bin', 'checkout'].map((name) => join(place, name)) as [
    string,
    string,
    string,
  ]
  for (const folder of [home, bin, checkout]) mkdirSync(folder)
  for (const [name, script] of Object.entries(shims())) {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  }
  // What is written beside the sources, such as `.cluster`, goes with the place.
  for (const name of readdirSync(root).filter((one) => !one.startsWith('.'))) {
    symlinkSync(join(root, name), join(checkout, name))
  }

  const kubectl = findKubectl()
  const path = [
    bin,
    dirname(process.execPath),
    ...(kubectl === undefined ? [] : [dirname(kubectl)]),
  ]
  const shell = spawn('bash', ['--noprofile', '--norc'], {
    cwd: checkout,
    detached: true,
    env: {
      PATH: [...path, '/usr/local/bin', '/usr/bin', '/bin'].join(delimiter),
      HOME: home,
      XDG_STATE_HOME: join(home, '.local', 'state'),
      NO_COLOR: '1',
      // For the scripts that a page runs from their sources.
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
    },
  })
  let output = ''
  let onOutput = (): void => {}
  for (const stream of [shell.stdout, shell.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
      onOutput()
    })
  }
  shell.stdin.on('error', () => {}) // the shell has ended; `type` notices
  const ended = new Promise<void>((resolve) => shell.once('close', () => resolve()))
  shell.stdin.write(
    `exec 2>&1\ntrap "{ skiff down --all; [ ! -d .cluster ] || node scripts/down.ts; rm -rf '${place}'; } >/dev/null" EXIT\n`,
  )
  const kill = (): void => {
    if (shell.pid === undefined || shell.exitCode !== null || shell.signalCode !== null) return
    process.kill(-shell.pid, 'SIGKILL')
  }
  const stateRoot = join(home, '.local', 'state', 'skiff', 'clusters')
  const clusters = (): string[] => (existsSync(stateRoot) ? readdirSync(stateRoot) : [])

  let count = 0
  return {
    home,
    clusters,
    async type(command, timeoutMs) {
      const mark = `--- end of command ${++count}: `
      output = ''
      // Braces keep what it exports; the newline ends a comment behind it.
      shell.stdin.write(`{ ${command}\n} </dev/null\nprintf '%s%s\\n' '${mark}' $?\n`)
      let timer: NodeJS.Timeout | undefined
      try {
        return await new Promise<Typed>((resolve, reject) => {
          const fail = (what: string): void => reject(new Error(`$ ${command}\n${what}\n${output}`))
          onOutput = () => {
            const at = output.indexOf(mark)
            const code = at < 0 ? null : /^\d+(?=\n)/.exec(output.slice(at + mark.length))
            if (code !== null) resolve({ code: Number(code[0]), output: output.slice(0, at) })
          }
          timer = setTimeout(() => {
            fail(`took longer than ${timeoutMs} ms; so far it printed:`)
            kill()
          }, timeoutMs)
          void ended.then(() => fail('the shell has ended'))
        })
      } finally {
        clearTimeout(timer)
        onOutput = () => {}
      }
    },
    async [Symbol.asyncDispose]() {
      shell.stdin.end()
      const timer = setTimeout(kill, 10_000)
      await ended
      clearTimeout(timer)
      // What the shell could not do itself, because it was killed; and scripts/up.ts has a cluster beside the sources.
      const dirs = clusters().map((name) => join(stateRoot, name))
      for (const dir of [...dirs, join(checkout, '.cluster', 'by-hand')].filter(existsSync)) {
        await removeCluster(pathsIn(dir), { clock: systemClock, graceMs: 500 })
      }
      await rm(place, { recursive: true, force: true })
    },
  }
}
