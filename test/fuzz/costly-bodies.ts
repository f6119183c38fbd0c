/** Bodies as large as asked, each with many of one thing: parts of ConfigMaps and of access reviews. */

/** `make(0)`, `make(1)`, ... until there are as many characters. */
export function many(bytes: number, make: (n: number) => string): string[] {
  const all: string[] = []
  for (let length = 0; length < bytes; length += (all.at(-1) as string).length + 1) {
    all.push(make(all.length))
  }
  return all
}

export const list = (bytes: number, make: (n: number) => string): string => many(bytes, make).join()

export const configMap = (more: string): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"${more}`
export const keys = (bytes: number, value = '"v"'): string => list(bytes, (n) => `"k${n}":${value}`)
export const keysObject = (bytes: number, prefix = 'k'): Record<string, string> =>
  Object.fromEntries(
    many(bytes, (n) => `"${prefix}${n}":"v"`).map((_, n) => [`${prefix}${n}`, 'v']),
  )

export const entry = (n: number, more = ''): string =>
  `{"manager":"m${n}","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k${n}":{}}}${more}}`

/** Entries are long: four times the bytes make a number of them that matters. */
const entries = (bytes: number, make: (n: number) => string): string => list(bytes * 4, make)

export type Made = readonly [what: string, body: (bytes: number) => string]

export const configMapBodies: readonly Made[] = [
  ['keys', (b) => configMap(`},"data":{${keys(b)}}}`)],
  [
    'keys in reverse',
    (b) =>
      configMap(
        `},"data":{${many(b, (n) => `"k${n}":"v"`)
          .toReversed()
          .join()}}}`,
      ),
  ],
  ['numeric keys', (b) => configMap(`},"data":{${list(b, (n) => `"${n}":"v"`)}}}`)],
  ['binary keys', (b) => configMap(`},"binaryData":{${keys(b, '"AAAA"')}}}`)],
  ['bad keys', (b) => configMap(`},"data":{${list(b, (n) => `"k/${n}":"v"`)}}}`)],
  ['keys with a wrong value', (b) => configMap(`},"data":{${list(b, (n) => `"k${n}":1`)}}}`)],
  ['one long value', (b) => configMap(`},"data":{"a":"${'x'.repeat(b)}"}}`)],
  ['one value of escapes', (b) => configMap(`},"data":{"a":"${'\\u0001'.repeat(b / 6)}"}}`)],
  ['one value of quotes', (b) => configMap(`},"data":{"a":"${'\\"'.repeat(b / 2)}"}}`)],
  ['a long key', (b) => configMap(`},"data":{"${'a'.repeat(b)}":"v"}}`)],
  ['labels', (b) => configMap(`,"labels":{${keys(b)}}}}`)],
  ['bad labels', (b) => configMap(`,"labels":{${list(b, (n) => `"-${n}":"-"`)}}}}`)],
  ['annotations', (b) => configMap(`,"annotations":{${keys(b)}}}}`)],
  ['finalizers', (b) => configMap(`,"finalizers":[${list(b, (n) => `"a.b/${n}"`)}]}}`)],
  ['bad finalizers', (b) => configMap(`,"finalizers":[${list(b, () => '"-"')}]}}`)],
  [
    'owner references',
    (b) =>
      configMap(
        `,"ownerReferences":[${list(b, (n) => `{"apiVersion":"v1","kind":"Pod","name":"p","uid":"${n}"}`)}]}}`,
      ),
  ],
  [
    'the same owner',
    (b) =>
      configMap(
        `,"ownerReferences":[${list(b, () => '{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}')}]}}`,
      ),
  ],
  ['empty owner references', (b) => configMap(`,"ownerReferences":[${list(b, () => '{}')}]}}`)],
  ['managers', (b) => configMap(`,"managedFields":[${entries(b, (n) => entry(n))}]}}`)],
  [
    'managers with times',
    (b) =>
      configMap(
        `,"managedFields":[${entries(b, (n) => entry(n, `,"time":"2025-01-01T00:${String(n % 60).padStart(2, '0')}:00Z"`))}]}}`,
      ),
  ],
  [
    'managers in many versions',
    (b) =>
      configMap(
        `,"managedFields":[${entries(b, (n) => entry(n).replace('"v1"', `"v${n % 1000}"`))}]}}`,
      ),
  ],
  [
    'managers of sub-resources',
    (b) =>
      configMap(`,"managedFields":[${entries(b, (n) => entry(0, `,"subresource":"s${n}"`))}]}}`),
  ],
  [
    'appliers',
    (b) =>
      configMap(
        `},"data":{"a":"b"},"metadata":{"name":"x","managedFields":[${entries(b, (n) => entry(n).replace('Update', 'Apply'))}]}}`,
      ),
  ],
  [
    'a manager with many fields',
    (b) =>
      configMap(
        `,"managedFields":[${entry(0).replace(
          '"f:k0":{}',
          list(b, (n) => `"f:k${n}":{}`),
        )}]}}`,
      ),
  ],
  [
    'two managers with many fields in reverse',
    (b) => {
      const fields = many(b / 2, (n) => `"f:k${n}":{}`)
      return configMap(
        `,"managedFields":[${entry(0).replace('"f:k0":{}', fields.toReversed().join())},${entry(1).replace('"f:k1":{}', fields.join())}]}}`,
      )
    },
  ],
  [
    'managed elements by key',
    (b) =>
      configMap(
        `,"managedFields":[${entry(0).replace(
          '"f:k0":{}',
          list(b, (n) => JSON.stringify(`k:{"b":${n},"a":"${n}"}`) + ':{}'),
        )}]}}`,
      ),
  ],
  [
    'managed elements by value',
    (b) =>
      configMap(
        `,"managedFields":[${entry(0).replace(
          '"f:k0":{}',
          list(b, (n) => JSON.stringify(`v:{"b":[${n}]}`) + ':{}'),
        )}]}}`,
      ),
  ],
  [
    'managed fields with one big element',
    (b) =>
      configMap(
        `,"managedFields":[${entry(0).replace('"f:k0":{}', JSON.stringify(`v:${'['.repeat(400)}${list(b, (n) => `${n}`)}${']'.repeat(400)}`) + ':{}')}]}}`,
      ),
  ],
  ['unknown fields', (b) => configMap(`},${keys(b, '1')}}`)],
  ['unknown metadata', (b) => configMap(`,${keys(b, '1')}}}`)],
  ['one field often', (b) => configMap(`},${list(b, () => '"data":{}')}}`)],
  ['one key often', (b) => configMap(`},"data":{${list(b, () => '"a":"b"')}}}`)],
  [
    'deep unknown fields',
    (b) => configMap(`},"u":[${list(b, () => '{"a":'.repeat(500) + '1' + '}'.repeat(500))}]}`),
  ],
  [
    'deep repeated fields',
    (b) => configMap(`},"u":${'{"a":'.repeat(900)}{${list(b, () => '"b":1')}}${'}'.repeat(900)}}`),
  ],
  ['a deep value', (b) => configMap(`},"u":${'['.repeat(b)}`)],
  ['opening brackets', (b) => `[`.repeat(b)],
  ['empty lists', (b) => configMap(`},"u":[${list(b, () => '[]')}]}`)],
  ['numbers', (b) => configMap(`},"u":[${list(b, () => '1')}]}`)],
  ['long numbers', (b) => configMap(`},"u":[${list(b, () => '1e100')}]}`)],
  ['one long number', (b) => configMap(`},"u":${'1'.repeat(b)}}`)],
  ['an unfinished text', (b) => configMap(`},"data":{"a":"${'x'.repeat(b)}`)],
  ['backslashes', (b) => configMap(`},"data":{"a":"${'\\\\'.repeat(b / 2)}`)],
  ['spaces', (b) => configMap(`}${' '.repeat(b)}`)],
  ['a long name', (b) => `{"metadata":{"name":"${'a.'.repeat(b / 2)}a"}}`],
  ['a long base name', (b) => `{"metadata":{"generateName":"${'a-'.repeat(b / 2)}"}}`],
  ['a long namespace', (b) => configMap(`,"namespace":"${'a-'.repeat(b / 2)}"}}`)],
  ['a long kind', (b) => `{"apiVersion":"v1","kind":"${'a-'.repeat(b / 2)}"}`],
  ['a long version', (b) => `{"apiVersion":"${'a/'.repeat(b / 2)}","kind":"ConfigMap"}`],
]

const requirement = (n: number): string => `{"key":"k${n}","operator":"In","values":["v"]}`
const review = (more: string): string =>
  `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"list","resource":"pods"${more}}}}`

export const reviewBodies: readonly Made[] = [
  [
    'label requirements',
    (b) => review(`,"labelSelector":{"requirements":[${list(b, requirement)}]}`),
  ],
  [
    'bad label requirements',
    (b) => review(`,"labelSelector":{"requirements":[${list(b, () => '{}')}]}`),
  ],
  [
    'unknown operators',
    (b) =>
      review(`,"labelSelector":{"requirements":[${list(b, () => '{"key":"a","operator":"X"}')}]}`),
  ],
  [
    'label values',
    (b) =>
      review(
        `,"labelSelector":{"requirements":[{"key":"a","operator":"In","values":[${list(b, (n) => `"v${n}"`)}]}]}`,
      ),
  ],
  [
    'bad label values',
    (b) =>
      review(
        `,"labelSelector":{"requirements":[{"key":"a","operator":"In","values":[${list(b, (n) => `"-${n}"`)}]}]}`,
      ),
  ],
  [
    'field requirements',
    (b) => review(`,"fieldSelector":{"requirements":[${list(b, requirement)}]}`),
  ],
  [
    'bad field requirements',
    (b) => review(`,"fieldSelector":{"requirements":[${list(b, () => '{}')}]}`),
  ],
  [
    'a raw label selector',
    (b) => review(`,"labelSelector":{"rawSelector":"${list(b, (n) => `k${n}=v`)}"}`),
  ],
  [
    'a raw field selector',
    (b) => review(`,"fieldSelector":{"rawSelector":"${list(b, (n) => `k${n}=v`)}"}`),
  ],
  [
    'a raw field selector of escapes',
    (b) => review(`,"fieldSelector":{"rawSelector":"a=${'\\\\\\\\'.repeat(b / 4)}"}`),
  ],
  ['a long name', (b) => review(`,"name":"${'a.'.repeat(b / 2)}"`)],
]

const subjectReview = (more: string): string =>
  `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"resourceAttributes":{"verb":"list","resource":"pods"}${more}}}`

export const subjectReviewBodies: readonly Made[] = [
  ['groups', (b) => subjectReview(`,"groups":[${list(b, (n) => `"g${n}"`)}]`)],
  ['extra', (b) => subjectReview(`,"user":"u","extra":{${keys(b, '["v"]')}}`)],
  ['one extra', (b) => subjectReview(`,"user":"u","extra":{"a":[${list(b, (n) => `"${n}"`)}]}`)],
  ['a long user', (b) => subjectReview(`,"user":"${'a:'.repeat(b / 2)}"`)],
]
