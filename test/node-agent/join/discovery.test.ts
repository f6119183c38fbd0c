import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createAuthority } from '../../../certs/authority.ts'
import { ConnectionError } from '../../../components/client/connection-error.ts'
import type { ClusterInfo } from '../../../components/node-agent/join/discovery.ts'
import {
  discover,
  parseBootstrapToken,
  pinOf,
  trustedCluster,
  verifySignature,
} from '../../../components/node-agent/join/discovery.ts'
import type { JoinReport } from '../../../components/node-agent/join/join-progress.ts'
import { JoinError } from '../../../components/node-agent/join/join-progress.ts'
import { notFound } from '../../../components/machinery/objects/status-error.ts'

const nowMs = Date.now()
const authority = createAuthority({ commonName: 'kubernetes', nowMs })
const other = createAuthority({ commonName: 'kubernetes', nowMs })
const token = parseBootstrapToken('abcdef.0123456789abcdef')
if (token === undefined) throw new Error('that is a token')

const kubeconfigFor = (ca: string): string =>
  JSON.stringify({
    clusters: [
      {
        name: '',
        cluster: {
          server: 'https://127.0.0.1:6443',
          'certificate-authority-data': Buffer.from(ca).toString('base64'),
        },
      },
    ],
  })

function signed(kubeconfig: string, secret = token?.text ?? '', alg = 'HS256'): string {
  const header = Buffer.from(JSON.stringify({ alg, kid: 'abcdef' })).toString('base64url')
  const payload = Buffer.from(kubeconfig).toString('base64url')
  const signature = createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')
  return `${header}..${signature}`
}

const kubeconfig = kubeconfigFor(authority.certificatePem)
const good: ClusterInfo = { kubeconfig, 'jws-kubeconfig-abcdef': signed(kubeconfig) }

async function attempt(
  answers: (ca: string | undefined) => Promise<ClusterInfo>,
  pins: readonly string[] = [pinOf(authority.certificatePem)],
) {
  const reports: JoinReport[] = []
  const finding = discover({
    server: 'https://127.0.0.1:6443',
    token: token as NonNullable<typeof token>,
    pins,
    fetchInfo: answers,
    report: (report) => void reports.push(report),
  })
  const failure = await finding.then(
    () => undefined,
    (error: unknown) => error as JoinError,
  )
  const steps = reports.filter(({ state }) => state === 'done').map(({ step }) => step)
  return { finding, failure, steps }
}

describe('discovery', () => {
  test('ends with an authority that the token signed for, the pin fits and the server belongs to', async () => {
    const asked: (string | undefined)[] = []
    const { finding, steps } = await attempt(async (ca) => {
      asked.push(ca)
      return good
    })
    expect(await finding).toEqual({
      server: 'https://127.0.0.1:6443',
      ca: authority.certificatePem,
    })
    expect(steps).toEqual(['discovery', 'signature', 'pin', 'trust'])
    expect(asked).toEqual([undefined, authority.certificatePem])
  })

  test.each([
    [
      'an unreachable server may come back',
      () => Promise.reject(new ConnectionError('refused', 'connect ECONNREFUSED')),
      'discovery',
      true,
    ],
    [
      'cluster information that is not there may come',
      () => Promise.reject(notFound({ group: '', plural: 'configmaps' }, 'cluster-info')),
      'discovery',
      true,
    ],
    [
      'a token that did not sign may be made later',
      async () => ({ kubeconfig }),
      'signature',
      true,
    ],
    [
      'a wrong secret ends it',
      async () => ({
        kubeconfig,
        'jws-kubeconfig-abcdef': signed(kubeconfig, 'abcdef.fedcba9876543210'),
      }),
      'signature',
      false,
    ],
    [
      'another algorithm ends it',
      async () => ({
        kubeconfig,
        'jws-kubeconfig-abcdef': signed(kubeconfig, undefined, 'none'),
      }),
      'signature',
      false,
    ],
    [
      'a changed kubeconfig ends it',
      async () => ({ ...good, kubeconfig: kubeconfigFor(other.certificatePem) }),
      'signature',
      false,
    ],
  ])('%s', async (_title, answers, step, isTransient) => {
    const { failure } = await attempt(answers)
    expect(failure).toBeInstanceOf(JoinError)
    expect(failure).toMatchObject({ step, isTransient })
    expect(failure?.hint).toMatch(/./)
  })

  test('another authority than the pinned one ends it, with both named', async () => {
    const { failure, steps } = await attempt(async () => good, [pinOf(other.certificatePem)])
    expect(failure).toMatchObject({ step: 'pin', isTransient: false })
    expect(failure?.message).toContain(pinOf(authority.certificatePem))
    expect(steps).toEqual(['discovery', 'signature'])
  })

  test('a server without a certificate of the authority ends it', async () => {
    const { failure } = await attempt((ca) =>
      ca === undefined
        ? Promise.resolve(good)
        : Promise.reject(
            new ConnectionError('untrusted', 'unable to verify the first certificate'),
          ),
    )
    expect(failure).toMatchObject({ step: 'trust', isTransient: false })
  })

  test('no reason given to users has the token in it', async () => {
    for (const info of [{ kubeconfig }, { ...good, kubeconfig: 'x' }, {}]) {
      const error = await trustedClusterOf(info)
      expect(`${error.message} ${error.hint}`).not.toContain('0123456789abcdef')
    }
  })
})

async function trustedClusterOf(info: ClusterInfo): Promise<JoinError> {
  try {
    await trustedCluster(verifySignature(info, token as NonNullable<typeof token>), [])
  } catch (error) {
    return error as JoinError
  }
  throw new Error('that should not be trusted')
}

test('tokens are recognised by their form', () => {
  expect(parseBootstrapToken('abcdef.0123456789abcdef')).toMatchObject({ id: 'abcdef' })
  for (const bad of [
    'ABCDEF.0123456789abcdef',
    'abcde.0123456789abcdef',
    'abcdef0123456789abcdef',
    '',
  ]) {
    expect(parseBootstrapToken(bad)).toBeUndefined()
  }
})
