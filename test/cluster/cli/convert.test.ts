/** `skiff convert`: manifests of older versions, in files and on the way out. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { describe, expect, it } from 'vitest'
import { clusterCommands } from '../../../cluster/cli/commands.ts'
import { exitCodes } from '../../../cluster/cli/exit-codes.ts'
import { runCli } from '../../../cluster/cli/run-cli.ts'
import { systemClock } from '../../../components/component-base/clock.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const folder = temporaryFolder('convert')

async function skiff(...words: string[]): Promise<{ code: number; out: string; err: string }> {
  const text = { out: '', err: '' }
  const code = await runCli(clusterCommands, words, {
    terminal: {
      out: (more) => void (text.out += more),
      err: (more) => void (text.err += more),
      isInteractive: false,
      outColors: false,
      errColors: false,
      columns: 100,
    },
    clock: systemClock,
    stateRoot: folder,
    environment: {},
    program: 'skiff',
    signal: new AbortController().signal,
  })
  return { code, ...text }
}

function manifest(...documents: object[]): string {
  const path = join(folder, `${Math.random()}.yaml`)
  writeFileSync(path, documents.map((one) => JSON.stringify(one)).join('\n---\n'))
  return path
}

const ingress = (domain: string, apiVersion = `networking.${domain}/v1beta1`) => ({
  apiVersion,
  kind: 'Ingress',
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: {
    backend: { serviceName: 'all', servicePort: 'http' },
    rules: [
      {
        host: 'example.com',
        http: { paths: [{ path: '/', backend: { serviceName: 'web', servicePort: 80 } }] },
      },
    ],
  },
})

describe('skiff convert', () => {
  it.each([
    ['kubernetes', 'k8s.io'],
    ['svc', 'svc.io'],
  ])(
    '[VER-113] gives an old manifest its new version and fields, dialect %s',
    async (dialect, domain) => {
      const to = `networking.${domain}/v1`
      for (const from of [`networking.${domain}/v1beta1`, 'extensions/v1beta1']) {
        const { code, out, err } = await skiff(
          'convert',
          '-f',
          manifest(ingress(domain, from)),
          '--output-version',
          to,
          `--dialect=${dialect}`,
        )
        expect([code, err]).toEqual([exitCodes.ok, ''])
        expect(load(out)).toMatchObject({
          apiVersion: to,
          kind: 'Ingress',
          metadata: { name: 'web', labels: { app: 'web' } },
          spec: {
            defaultBackend: { service: { name: 'all', port: { name: 'http' } } },
            rules: [
              {
                host: 'example.com',
                http: {
                  paths: [
                    {
                      path: '/',
                      pathType: 'ImplementationSpecific',
                      backend: { service: { name: 'web', port: { number: 80 } } },
                    },
                  ],
                },
              },
            ],
          },
        })
        expect(out).not.toMatch(/serviceName|servicePort|^ {2}backend:/m)
      }
    },
  )

  it('converts between versions that are served, both ways', async () => {
    const scaler = {
      apiVersion: 'autoscaling/v1',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web' },
      spec: {
        scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' },
        maxReplicas: 3,
        targetCPUUtilizationPercentage: 70,
      },
    }
    const there = await skiff('convert', '-f', manifest(scaler), '--output-version=autoscaling/v2')
    const v2 = load(there.out) as Record<string, never>
    expect(v2).toMatchObject({
      apiVersion: 'autoscaling/v2',
      spec: { metrics: [{ type: 'Resource' }] },
    })
    const back = await skiff(
      'convert',
      '-f',
      manifest(v2),
      '--output-version=autoscaling/v1',
      '-o',
      'json',
    )
    expect(JSON.parse(back.out)).toMatchObject({ apiVersion: 'autoscaling/v1', spec: scaler.spec })
  })

  it('gives several objects as a list, each in the preferred version when none or another is named', async () => {
    const claim = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, data: { a: 'b' } }
    const job = {
      apiVersion: 'batch/v1beta1',
      kind: 'CronJob',
      metadata: { name: 'nightly' },
      spec: { schedule: '0 0 * * *', jobTemplate: { spec: { template: { spec: {} } } } },
    }
    const list = { apiVersion: 'v1', kind: 'List', items: [ingress('k8s.io')] }
    const { code, out } = await skiff(
      'convert',
      '-f',
      manifest(claim, job),
      '-f',
      manifest(list),
      '--output-version=batch/v1',
      '-o',
      'json',
    )
    expect(code).toBe(0)
    const { kind, items } = JSON.parse(out) as { kind: string; items: { apiVersion: string }[] }
    expect(kind).toBe('List')
    expect(items.map(({ apiVersion }) => apiVersion)).toEqual([
      'v1',
      'batch/v1',
      'networking.k8s.io/v1',
    ])
    expect(items[0]).toMatchObject({ data: { a: 'b' } })
  })

  it.each([
    [
      { apiVersion: 'apps/v0', kind: 'Deployment', metadata: {} },
      'no kind "Deployment" is registered for version "apps/v0"',
    ],
    [
      { apiVersion: 'example.com/v1', kind: 'Widget', metadata: {} },
      'no kind "Widget" is registered',
    ],
    [
      { apiVersion: 'v1', metadata: {} },
      'invalid manifest: apiVersion, kind and metadata are required',
    ],
  ])('refuses %j', async (object, message) => {
    const path = manifest(object)
    const { code, out, err } = await skiff('convert', '-f', path)
    expect([code, out]).toEqual([exitCodes.failed, ''])
    expect(err).toContain(`${path}: `)
    expect(err).toContain(message)
  })

  it('refuses wrong use', async () => {
    expect(await skiff('convert')).toMatchObject({ code: exitCodes.usage })
    const path = manifest(ingress('k8s.io'))
    const removed = await skiff('convert', '-f', path, '--output-version', 'batch/v1beta1')
    expect(removed).toMatchObject({ code: exitCodes.usage, out: '' })
    expect(removed.err).toContain('invalid --output-version "batch/v1beta1": unknown version')
    const missing = await skiff('convert', '-f', join(folder, 'none.yaml'))
    expect(missing.code).toBe(exitCodes.failed)
    expect(missing.err).toContain('none.yaml')
    writeFileSync(join(folder, 'bad.yaml'), 'a: [')
    const bad = await skiff('convert', '-f', join(folder, 'bad.yaml'))
    expect(bad.code).toBe(exitCodes.failed)
    expect(bad.err).toContain('bad.yaml')
  })
})
