/** kubectl: runs the stock client where one is installed; where none is, the step is passed over and says so. */
import { execFile } from 'node:child_process'
import { boolean, integer, list, object, optional, string } from '../shape.ts'
import { AssertionFailure, defineStep } from '../step.ts'

interface Output {
  readonly exitCode: number | undefined
  readonly stdout: string
  readonly stderr: string
}

/** `exitCode` is undefined when there is no such program. */
function run(
  args: readonly string[],
  options: { input: string | undefined; signal: AbortSignal },
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const limits = { signal: options.signal, maxBuffer: 16 * 1024 * 1024 }
    const child = execFile('kubectl', args, limits, (error, stdout, stderr) => {
      if (options.signal.aborted) reject(options.signal.reason as Error)
      else if (error?.code === 'ENOENT') resolve({ exitCode: undefined, stdout, stderr })
      else resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), stdout, stderr })
    })
    child.stdin?.on('error', () => {}) // kubectl did not want its input: its exit code tells
    child.stdin?.end(options.input ?? '')
  })
}

export const kubectl = defineStep({
  name: 'kubectl',
  summary: 'runs kubectl with these args; expect exitCode, stdout, stderr (parts of the text)',
  shape: object({
    args: list(string),
    input: optional(string),
    expect: optional(
      object({
        exitCode: optional(integer),
        stdout: optional(string),
        stderr: optional(string),
      }),
    ),
    /** Fail where kubectl is missing. */
    required: optional(boolean),
  }),
  title: ({ args }) => `kubectl ${args.join(' ')}`,
  run: async (params, { cluster, signal, note }) => {
    const args = [`--kubeconfig=${cluster.paths.adminKubeconfig}`, ...params.args]
    const output = await run(args, { input: params.input, signal })
    if (output.exitCode === undefined) {
      if (params.required === true) throw new Error('there is no kubectl in the path')
      note('NOT RUN: there is no kubectl in the path')
      return
    }
    const { exitCode = 0, stdout, stderr } = params.expect ?? {}
    const isGood =
      output.exitCode === exitCode &&
      (stdout === undefined || output.stdout.includes(stdout)) &&
      (stderr === undefined || output.stderr.includes(stderr))
    if (isGood) return
    throw new AssertionFailure({
      message: `kubectl ${params.args.join(' ')} did not do as expected`,
      expected: [
        `exit code ${exitCode}`,
        ...(stdout === undefined ? [] : [`output with: ${stdout}`]),
        ...(stderr === undefined ? [] : [`errors with: ${stderr}`]),
      ],
      actual: [
        `exit code ${output.exitCode}`,
        ...output.stdout.split('\n').slice(0, 20),
        ...output.stderr.split('\n').slice(0, 20),
      ].filter((line) => line !== ''),
    })
  },
})
