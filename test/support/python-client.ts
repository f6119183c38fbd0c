/** Kubernetes' Python client: a Python process that does what it is asked, one thing after the other. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'vitest'
import { temporaryFolder } from './temporary-folder.ts'

/** Where Debian puts them. */
const python = '/usr/bin/python3'
const module = '/usr/lib/python3/dist-packages/kubernetes/__init__.py'
const program = join(import.meta.dirname, '..', 'clients', 'fixtures', 'python_client.py')

/** The tests that need it. Where it is not installed they are skipped, and standard error says so. */
export function requirePythonClient(): typeof test | typeof test.skip {
  if (existsSync(python) && existsSync(module)) return test
  const message = `NOT TESTED: the Python client; there is no ${module} (apt-get install python3-kubernetes)`
  process.stderr.write(`${message}\n`)
  test.skip(message, () => {})
  return test.skip
}

export interface PythonClient extends AsyncDisposable {
  /** Calls a function of `python_client.py`; what it returned. An exception there is an error with its traceback. */
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look into answers of every kind
  do(name: string, ...args: readonly unknown[]): Promise<any>
}

/** Starts it, with the kubeconfig as its own. */
export function startPythonClient(kubeconfig: string): PythonClient {
  // For keys, certificates and what it has discovered.
  const folder = temporaryFolder('python-client')
  const child = spawn(python, ['-B', program], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { KUBECONFIG: kubeconfig, HOME: folder, PATH: process.env['PATH'], TMPDIR: folder },
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  child.stdin.on('error', () => {}) // it has ended, which the next answer tells
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]()
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return {
    do: async (name, ...args) => {
      child.stdin.write(`${JSON.stringify([name, args])}\n`)
      const { value, done } = await answers.next()
      if (done === true) throw new Error(`Python ended: ${said}`)
      const answer = JSON.parse(value) as { value?: unknown; error?: string }
      if (answer.error !== undefined) throw new Error(answer.error)
      return answer.value
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}
