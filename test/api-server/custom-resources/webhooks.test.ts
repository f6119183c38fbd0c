/** Admission webhooks of custom resources: asked in the version that their rules name, and their changes are read by the schema. */
import { describe, expect, it } from 'vitest'
import { configureWebhooks, startAdmissionRemote } from '../../support/admission-remote.ts'
import { define } from '../../support/custom-definitions.ts'
import { sharedServer } from '../../support/shared-server.ts'

describe('admission webhooks', () => {
  const server = sharedServer()

  it('see custom resources in the version they ask for, and may change and refuse them', async () => {
    await using remote = await startAdmissionRemote()
    const group = 'hooked.example.com'
    const schema = {
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: { size: { type: 'integer' }, colour: { type: 'string' } },
          },
        },
      },
    }
    const pathIn = await define(server(), {
      group,
      kind: 'Thing',
      versions: [
        { name: 'v1', served: true, storage: true, schema },
        { name: 'v1beta1', served: true, storage: false, schema },
      ],
    })
    const rule = { operations: ['*'], apiGroups: [group], apiVersions: ['v1beta1'] }
    const hook = remote.webhook('m.x.io', { rules: [{ ...rule, resources: ['things'] }] })
    const undo = await configureWebhooks(server(), 'Mutating', [hook])
    remote.respond = ({ object }) =>
      object?.spec?.size === 0
        ? { allowed: false, status: { message: 'too small' } }
        : {
            allowed: true,
            patch: [
              { op: 'add', path: '/spec/colour', value: 'red' },
              { op: 'add', path: '/spec/unknown', value: 1 },
            ],
          }
    const path = pathIn(await server().namespace())
    const body = (size: number) => ({
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: 'a' },
      spec: { size },
    })
    const made = await server().ok('POST', path, { body: body(1) })
    expect(made).toMatchObject({ apiVersion: `${group}/v1` })
    expect(made.spec).toEqual({ size: 1, colour: 'red' })
    expect(remote.asked()[0]).toMatchObject({
      kind: { group, version: 'v1beta1', kind: 'Thing' },
      requestKind: { group, version: 'v1', kind: 'Thing' },
      object: { apiVersion: `${group}/v1beta1`, spec: { size: 1 } },
    })
    const refused = await server().request('POST', path, { body: body(0) })
    expect(refused.body.message).toBe('admission webhook "m.x.io" denied the request: too small')
    await undo()
  })
})
