/** What the stable versions ask for and how they name things, where earlier versions had other words. */
import { expect, it } from 'vitest'
import type { Reply } from '../../support/api-server.ts'
import { samples } from '../../support/one-of-each.ts'
import { describeDialects } from '../../support/shared-server.ts'

const strict = '?fieldValidation=Strict'
const fieldsOf = (reply: Reply): string[] =>
  (reply.body.details?.causes ?? []).map(({ field }: { field: string }) => field)

describeDialects('fields of stable versions', (server) => {
  let count = 0
  /** A valid body of the collection, with a name of its own. */
  const sample = (plural: string) => {
    count += 1
    const found = samples(server(), 'default', `x${count}`).find(
      ({ path }) =>
        path.endsWith(`/v1/namespaces/default/${plural}`) || path.endsWith(`/v1/${plural}`),
    )
    if (found === undefined) throw new Error(`no sample of ${plural}`)
    return { path: found.path, body: structuredClone(found.body) as any }
  }
  const post = (path: string, body: unknown): Promise<Reply> =>
    server().request('POST', path + strict, { body })

  async function expectUnknown(reply: Promise<Reply>, ...fields: string[]): Promise<void> {
    const { status, body } = await reply
    expect(status).toBe(400)
    expect(body.reason).toBe('BadRequest')
    for (const field of fields) expect(body.message).toContain(`unknown field "${field}"`)
  }

  async function expectInvalid(reply: Promise<Reply>, ...fields: string[]): Promise<void> {
    const answer = await reply
    expect(answer.status, answer.text).toBe(422)
    expect(answer.body.reason).toBe('Invalid')
    expect(fieldsOf(answer)).toEqual(expect.arrayContaining(fields))
  }

  async function expectCreated(reply: Promise<Reply>): Promise<any> {
    const answer = await reply
    expect(answer.status, answer.text).toBe(201)
    return answer.body
  }

  const level = (limited: object) => {
    const { path, body } = sample('prioritylevelconfigurations')
    body.spec.limited = { ...body.spec.limited, ...limited }
    return post(path, body)
  }

  it('[VER-066] a priority level has nominalConcurrencyShares, no assured ones', async () => {
    const made = await expectCreated(level({ nominalConcurrencyShares: 12 }))
    expect(made.spec.limited.nominalConcurrencyShares).toBe(12)
    const field = 'spec.limited.assuredConcurrencyShares'
    await expectUnknown(level({ assuredConcurrencyShares: 12 }), field)
  })

  it('[VER-067] nominalConcurrencyShares is 30 when nothing is said', async () => {
    const { metadata } = await expectCreated(level({}))
    const path = `${sample('prioritylevelconfigurations').path}/${metadata.name}`
    expect((await server().ok('GET', path)).spec.limited.nominalConcurrencyShares).toBe(30)
  })

  it('[VER-068] a nominalConcurrencyShares of 0 is kept', async () => {
    const { metadata } = await expectCreated(level({ nominalConcurrencyShares: 0 }))
    const path = `${sample('prioritylevelconfigurations').path}/${metadata.name}`
    expect((await server().ok('GET', path)).spec.limited.nominalConcurrencyShares).toBe(0)
  })

  it('[VER-074] an endpoint has a node and a zone, and no topology', async () => {
    const { path, body } = sample('endpointslices')
    body.endpoints = [{ addresses: ['10.1.2.3'], nodeName: 'n1', zone: 'z1' }]
    const made = await expectCreated(post(path, body))
    expect(made.endpoints).toEqual([
      { addresses: ['10.1.2.3'], conditions: {}, nodeName: 'n1', zone: 'z1' },
    ])
    body.metadata.name += '-topology'
    body.endpoints[0].topology = { a: 'b' }
    await expectUnknown(post(path, body), 'endpoints[0].topology')
  })

  const webhook = (plural: string, change: object) => {
    const { path, body } = sample(plural)
    body.webhooks = [{ ...body.webhooks[0], ...change }]
    return post(path, body)
  }

  it('[VER-083] a webhook fails closed, matches equivalents and has ten seconds', async () => {
    for (const plural of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
      const { path, body } = sample(plural)
      const made = await expectCreated(post(path, body))
      const read = await server().ok('GET', `${path}/${made.metadata.name}`)
      expect(read.webhooks[0]).toMatchObject({
        failurePolicy: 'Fail',
        matchPolicy: 'Equivalent',
        timeoutSeconds: 10,
      })
    }
  })

  it('[VER-084] a webhook says its side effects and the reviews that it understands', async () => {
    for (const plural of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
      const changed = (change: object) => webhook(plural, change)
      await expectCreated(changed({}))
      // Version v1beta1 took a default, and two more values that v1 does not know.
      for (const sideEffects of [undefined, 'Some', 'Unknown']) {
        await expectInvalid(changed({ sideEffects }), 'webhooks[0].sideEffects')
      }
      const reviews = 'webhooks[0].admissionReviewVersions'
      for (const admissionReviewVersions of [undefined, []]) {
        await expectInvalid(changed({ admissionReviewVersions }), reviews)
      }
    }
  })

  it('[VER-085] webhooks of a configuration have different names', async () => {
    for (const plural of ['validatingwebhookconfigurations', 'mutatingwebhookconfigurations']) {
      const { path, body } = sample(plural)
      body.webhooks = [body.webhooks[0], body.webhooks[0]]
      await expectInvalid(post(path, body), 'webhooks[1].name')
    }
  })

  const definition = (change: (spec: any) => void) => {
    const { path, body } = sample('customresourcedefinitions')
    count += 1
    body.spec.names.plural = `things${count}`
    body.spec.names.kind = `Thing${count}`
    body.metadata.name = `things${count}.example.com`
    change(body.spec)
    return post(path, body)
  }

  it('[VER-087] a definition says its scope', async () => {
    await expectInvalid(
      definition((spec) => delete spec.scope),
      'spec.scope',
    )
    await expectCreated(definition((spec) => (spec.scope = 'Cluster')))
  })

  it('[VER-088] each version of a definition has its schema, sub-resources and columns', async () => {
    const parts = {
      subresources: { status: {} },
      additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a' }],
    }
    const made = await expectCreated(definition((spec) => Object.assign(spec.versions[0], parts)))
    expect(made.spec.versions[0]).toMatchObject({ ...parts, schema: expect.anything() })
    for (const [field, value] of Object.entries({ ...parts, validation: {}, version: 'v1' })) {
      await expectUnknown(
        definition((spec) => (spec[field] = value)),
        `spec.${field}`,
      )
    }
  })

  it('[VER-089] a conversion webhook is configured below conversion.webhook', async () => {
    const clientConfig = { url: 'https://127.0.0.1:1/convert' }
    const made = await expectCreated(
      definition((spec) => {
        const webhook = { clientConfig, conversionReviewVersions: ['v1'] }
        spec.conversion = { strategy: 'Webhook', webhook }
      }),
    )
    expect(made.spec.conversion.webhook.clientConfig).toEqual(clientConfig)
    await expectUnknown(
      definition((spec) => {
        spec.conversion = { strategy: 'Webhook', webhookClientConfig: clientConfig }
      }),
      'spec.conversion.webhookClientConfig',
    )
  })

  it('[VER-090] a definition needs a structural schema', async () => {
    await expectInvalid(
      definition((spec) => delete spec.versions[0].schema),
      'spec.versions[0].schema.openAPIV3Schema',
    )
    const field = 'spec.validation.openAPIV3Schema.properties[a].type'
    await expectInvalid(
      definition((spec) => {
        const a = { properties: { b: { type: 'string' } } }
        spec.versions[0].schema.openAPIV3Schema.properties = { a }
      }),
      field,
    )
  })

  it('[VER-091] a definition does not keep unknown fields everywhere', async () => {
    await expectInvalid(
      definition((spec) => (spec.preserveUnknownFields = true)),
      'spec.preserveUnknownFields',
    )
    await expectCreated(definition((spec) => (spec.preserveUnknownFields = false)))
  })

  it('[VER-092] a column has a jsonPath in small letters', async () => {
    const column = { name: 'A', type: 'string' }
    await expectCreated(
      definition((spec) => {
        spec.versions[0].additionalPrinterColumns = [{ ...column, jsonPath: '.a' }]
      }),
    )
    await expectUnknown(
      definition((spec) => {
        spec.versions[0].additionalPrinterColumns = [{ ...column, JSONPath: '.a' }]
      }),
      'spec.versions[0].additionalPrinterColumns[0].JSONPath',
    )
  })

  it('[VER-096] an access review names groups', async () => {
    const path = `/apis/${server().group('authorization')}/v1/subjectaccessreviews`
    const resourceAttributes = { verb: 'get', resource: 'pods' }
    const asked = (subject: object) => post(path, { spec: { ...subject, resourceAttributes } })
    const masters = await expectCreated(asked({ user: 'u', groups: ['system:masters'] }))
    expect(masters.status.allowed).toBe(true)
    const others = await expectCreated(asked({ user: 'u', groups: ['others'] }))
    expect(others.status.allowed).toBe(false)
    await expectUnknown(asked({ user: 'u', group: ['system:masters'] }), 'spec.group')
  })

  const request = (change: object) => {
    const { path, body } = sample('certificatesigningrequests')
    body.spec = { ...body.spec, ...change }
    return post(path, body)
  }

  it('[VER-098] a signing request names its signer and its usages', async () => {
    await expectInvalid(request({ signerName: undefined }), 'spec.signerName')
    await expectInvalid(request({ usages: undefined }), 'spec.usages')
    await expectInvalid(request({ usages: [] }), 'spec.usages')
  })

  it('[VER-099] usages and conditions of a signing request are there once', async () => {
    const twice = ['client auth', 'client auth']
    await expectInvalid(request({ usages: twice }), 'spec.usages[1]')
    const made = await expectCreated(request({}))
    const { path } = sample('certificatesigningrequests')
    const condition = { type: 'Approved', status: 'True', reason: 'Because', message: 'm' }
    const approval = server().request('PUT', `${path}/${made.metadata.name}/approval`, {
      body: { ...made, status: { conditions: [condition, condition] } },
    })
    await expectInvalid(approval, 'status.conditions[1].type')
  })

  it('[VER-100] the certificate of a signing request is PEM of certificates alone', async () => {
    const made = await expectCreated(request({}))
    const { path } = sample('certificatesigningrequests')
    const put = (text: string) =>
      server().request('PUT', `${path}/${made.metadata.name}/status`, {
        body: { ...made, status: { certificate: Buffer.from(text).toString('base64') } },
      })
    const { certificatePem, privateKeyPem } = server().pki.credentials.apiserver
    await expectInvalid(put('certificate'), 'status.certificate')
    await expectInvalid(put(privateKeyPem), 'status.certificate')
    await expectInvalid(put(`${certificatePem}${privateKeyPem}`), 'status.certificate')
    const answer = await put(certificatePem)
    expect(answer.status, answer.text).toBe(200)
  })

  const ingress = (spec: object) => {
    const { path, body } = sample('ingresses')
    return post(path, { ...body, spec })
  }
  const backend = (port: object) => ({ service: { name: 'a', port } })
  const rules = (path: object) => ({ rules: [{ http: { paths: [path] } }] })

  it('[VER-102] an ingress has a defaultBackend', async () => {
    const made = await expectCreated(ingress({ defaultBackend: backend({ number: 80 }) }))
    expect(made.spec.defaultBackend).toEqual(backend({ number: 80 }))
    await expectUnknown(ingress({ backend: backend({ number: 80 }) }), 'spec.backend')
  })

  it('[VER-103] a backend is a service by name, and its port by number or name', async () => {
    for (const port of [{ number: 80 }, { name: 'web' }]) {
      const path = { path: '/', pathType: 'Prefix', backend: backend(port) }
      const made = await expectCreated(ingress(rules(path)))
      expect(made.spec.rules[0].http.paths[0].backend).toEqual(backend(port))
    }
    const old = { serviceName: 'a', servicePort: 80 }
    const at = 'spec.rules[0].http.paths[0].backend'
    await expectUnknown(
      ingress(rules({ path: '/', pathType: 'Prefix', backend: old })),
      `${at}.serviceName`,
      `${at}.servicePort`,
    )
  })

  it('[VER-104] a path says how it is matched', async () => {
    const path = (pathType?: string) =>
      ingress(rules({ path: '/', pathType, backend: backend({ number: 80 }) }))
    for (const pathType of ['Prefix', 'Exact', 'ImplementationSpecific']) {
      const made = await expectCreated(path(pathType))
      expect(made.spec.rules[0].http.paths[0].pathType).toBe(pathType)
    }
    const at = 'spec.rules[0].http.paths[0].pathType'
    await expectInvalid(path(undefined), at)
    await expectInvalid(path('Regex'), at)
  })

  it('[VER-111] a deployment has no rollbackTo', async () => {
    const { path, body } = sample('deployments')
    body.spec.rollbackTo = { revision: 1 }
    await expectUnknown(post(path, body), 'spec.rollbackTo')
    const dropped = await server().ok('POST', path, { body })
    expect(dropped.spec).not.toHaveProperty('rollbackTo')
  })
})
