/** kubectl exec, attach, cp and port-forward with simulated pods, with each kubectl there is: old ones speak SPDY, new ones WebSockets. */
import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { kubectlFor, oneKubectlPerRelease, requireKubectl } from './kubectl.ts'
import type { Kubectl } from './kubectl.ts'
import { sharedCluster } from './shared-cluster.ts'

const { path: first, test } = requireKubectl()
const kubectls = await oneKubectlPerRelease()

/**
 * kubectl up to 1.33 reads before it has made its streams (upstream: client-go/tools/remotecommand/websocket.go): on a busy machine
 * it discards what comes first, and logs that. Such a run shows nothing of what was sent.
 */
const discarded = /^E\d+ .* websocket\.go:\d+\] Unknown stream id \d, discarding message\n/m

describe.runIf(kubectls.length > 0)('kubectl', () => {
  let kubectl: Kubectl
  const children = new Set<ReturnType<typeof spawn>>()

  beforeAll(async () => {
    kubectl = await kubectlFor(await sharedCluster(), { path: first, namespace: 'streams' })
    await kubectl.ok`create configmap settings --from-literal=size=large`
    await kubectl.ok`create secret generic login --from-literal=password=s3cret`
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'web',
        annotations: { 'skiff.dev/listen': '80', 'skiff.dev/log-every': '200ms' },
      },
      spec: {
        containers: [
          {
            name: 'main',
            image: 'example.com/app:1',
            env: [
              { name: 'COLOUR', value: 'blue' },
              {
                name: 'SIZE',
                valueFrom: { configMapKeyRef: { name: 'settings', key: 'size' } },
              },
              {
                name: 'PASSWORD',
                valueFrom: { secretKeyRef: { name: 'login', key: 'password' } },
              },
              { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            ],
          },
        ],
      },
    }
    await kubectl.withInput(JSON.stringify(pod)).ok`create -f -`
    await kubectl.ok`wait --for=condition=Ready pod/web --timeout=15s`
  })
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
  })

  /** A command as a process; what it has said so far, and how it ended. */
  function start(path: string, ...words: string[]) {
    const child = spawn(path, words, { env: kubectl.env })
    children.add(child)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (data: unknown) => (said += String(data)))
    }
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    return { child, said: () => said, ended, stop: () => child.kill('SIGINT') }
  }

  /** A command with input, to its end. */
  async function run(
    path: string,
    input: string,
    ...words: string[]
  ): Promise<{ code: number | null; said: string }> {
    const { child, said, ended } = start(path, ...words)
    child.stdin.end(input)
    const code = await ended
    return discarded.test(said()) ? await run(path, input, ...words) : { code, said: said() }
  }

  describe.each(kubectls.map((path) => [basename(path), path]))('%s', (_, path) => {
    test('exec: output, input, exit codes, unknown commands', async () => {
      expect(await run(path, '', 'exec', 'web', '--', 'echo', 'hello', 'there')).toEqual({
        code: 0,
        said: 'hello there\n',
      })
      const long = 'some input\n'.repeat(20_000)
      expect(await run(path, long, 'exec', '-i', 'web', '--', 'cat')).toEqual({
        code: 0,
        said: long,
      })
      const three = await run(path, '', 'exec', 'web', '--', 'sh', '-c', 'echo $COLOUR; exit 3')
      expect(three).toEqual({ code: 3, said: 'blue\ncommand terminated with exit code 3\n' })
      const ip = await kubectl.ok`get pod web -o jsonpath={.status.podIP}`
      const values = ['exec', 'web', '--', 'sh', '-c', 'echo $SIZE $PASSWORD $IP']
      expect(await run(path, '', ...values)).toEqual({ code: 0, said: `large s3cret ${ip}\n` })
      const unknown = await run(path, '', 'exec', 'web', '--', 'ls')
      expect(unknown.code).toBe(127)
      expect(unknown.said).toContain('exec: "ls": executable file not found in $PATH')
      const other = await run(path, '', 'exec', 'web', '-c', 'other', '--', 'env')
      expect(other.code).toBe(1)
      expect(other.said).toContain('container other is not valid for pod web')
    })

    test('attach shows what the container writes', async () => {
      const attached = start(path, 'attach', 'web')
      await eventually(() => expect(attached.said()).toMatch(/main line \d+\nmain line/))
      attached.stop()
      await attached.ended
    })

    test('port-forward reaches what listens, and tells when nothing does', async () => {
      const forward = start(path, 'port-forward', 'web', ':80', ':81', '--address=127.0.0.1')
      const portOf = (remote: number): number =>
        Number(new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${remote}\\n`).exec(forward.said())?.[1])
      await eventually(() => {
        expect(portOf(80)).toBeGreaterThan(0)
        expect(portOf(81)).toBeGreaterThan(0)
      })
      for (const word of ['one', 'two']) {
        const answer = await fetch(`http://127.0.0.1:${portOf(80)}/${word}`)
        expect(await answer.text()).toBe(`streams/web on port 80: GET /${word}\n`)
      }
      await expect(fetch(`http://127.0.0.1:${portOf(81)}/`)).rejects.toThrow()
      await eventually(() => {
        expect(forward.said()).toMatch(
          /an error occurred forwarding \d+ -> 81: .*connection refused/,
        )
      })
      forward.stop()
      await forward.ended
    })
  })

  test('run -i without a command, and debug, give a shell; the pod ends with it', async () => {
    const words = ['run', 'shell', '--image=busybox', '--restart=Never', '--rm', '-i']
    const shell = await run(first, 'echo $HOSTNAME\nexit 3\n', ...words)
    expect(shell.said).toContain('shell\n')
    expect(shell.said).toContain('pod "shell" deleted')
    expect(shell.code).toBe(3)
    const into = ['debug', 'web', '-i', '-c', 'look', '--image=busybox', '--profile=general']
    const looked = await run(first, 'echo looked\n', ...into)
    expect(looked.said).toContain('looked\n')
    const ended = '{.status.ephemeralContainerStatuses[0].state.terminated.exitCode}'
    await kubectl.ok`wait pod/web --for=jsonpath=${ended}=0 --timeout=60s`
    expect(await kubectl.ok`get pod web -o jsonpath={.status.phase}`).toBe('Running')
  })
})
