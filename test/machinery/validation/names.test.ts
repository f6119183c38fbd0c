import { describe, expect, test } from 'vitest'
import * as names from '../../../components/machinery/validation/names.ts'

const long = (n: number) => 'a'.repeat(n)
const subdomainFault =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
const labelFault =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const partFault =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

describe('subdomain', () => {
  test.each(['a', 'a.b', '1-2.c', long(253)])('takes %j', (text) => {
    expect(names.subdomain(text)).toEqual([])
  })
  test.each(['', 'A', 'a_b', '-a', 'a-', 'a..b', '.a', 'a\n'])('refuses %j', (text) => {
    expect(names.subdomain(text)).toEqual([subdomainFault])
  })
  test('counts bytes', () => {
    expect(names.subdomain(long(254))).toEqual(['must be no more than 253 characters'])
  })
})

describe('RFC 1123 label', () => {
  test.each(['a', '0a', 'a-b', long(63)])('takes %j', (text) => {
    expect(names.label1123(text)).toEqual([])
  })
  test('says of a subdomain only that it has dots', () => {
    expect(names.label1123('a.b')).toEqual(['must not contain dots'])
  })
  test('names both the length and the form', () => {
    expect(names.label1123(`${long(64)}_`)).toEqual([
      'must be no more than 63 characters',
      labelFault,
    ])
  })
})

test('an RFC 1035 label starts with a letter', () => {
  expect(names.label1035('a1')).toEqual([])
  expect(names.label1035('1a')).toHaveLength(1)
})

describe('qualified name', () => {
  test.each(['a', 'A.b_c-d', 'example.com/x', `${long(63)}`])('takes %j', (text) => {
    expect(names.qualifiedName(text)).toEqual([])
  })
  test.each([
    ['a b', [`name part ${partFault}`]],
    ['', ['name part must be non-empty', `name part ${partFault}`]],
    ['/x', ['prefix part must be non-empty']],
    ['Ab/x', [`prefix part ${subdomainFault}`]],
    [long(64), ['name part must be no more than 63 characters']],
    [
      'a/b/c',
      [
        `a qualified name ${partFault} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
      ],
    ],
  ])('%j', (text, faults) => {
    expect(names.qualifiedName(text)).toEqual(faults)
  })
})

test('a label value may be empty', () => {
  expect(names.labelValue('')).toEqual([])
  expect(names.labelValue('a_b.C')).toEqual([])
  expect(names.labelValue('-')).toHaveLength(1)
  expect(names.labelValue(long(64))).toEqual(['must be no more than 63 characters'])
})

describe('port name', () => {
  test.each([
    ['http', []],
    ['80', ['must contain at least one letter (a-z)']],
    ['a--b', ['must not contain consecutive hyphens']],
    ['-a', ['must not begin or end with a hyphen']],
    [
      'HTTP',
      [
        'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'must contain at least one letter (a-z)',
      ],
    ],
    [long(16), ['must be no more than 15 characters']],
  ])('%j', (text, faults) => {
    expect(names.portName(text)).toEqual(faults)
  })
})

test('a port number is between 1 and 65535', () => {
  expect(names.portNumber(1)).toEqual([])
  expect(names.portNumber(65_535)).toEqual([])
  expect(names.portNumber(0)).toEqual(['must be between 1 and 65535, inclusive'])
  expect(names.portNumber(65_536)).toEqual(['must be between 1 and 65535, inclusive'])
})

test('names of environment variables are printable ASCII without the equals sign', () => {
  expect(names.environmentName('A b.c-1')).toEqual([])
  expect(names.environmentName('a=b')).toHaveLength(1)
  expect(names.environmentName('é')).toHaveLength(1)
  expect(names.environmentName('')).toEqual(['environment variable name must be non-empty'])
})

describe('config key', () => {
  test.each([
    ['a.b_c-D', []],
    ['.', ["must not be '.'"]],
    ['..', ["must not be '..'"]],
    ['..a', ["must not start with '..'"]],
  ])('%j', (text, faults) => {
    expect(names.configKey(text)).toEqual(faults)
  })
  test('may not have slashes', () => {
    expect(names.configKey('a/b')).toHaveLength(1)
  })
})

test('percentages, C identifiers, header names', () => {
  expect(names.percentage('25%')).toEqual([])
  expect(names.percentage('25')).toHaveLength(1)
  expect(names.percentage('-1%')).toHaveLength(1)
  expect(names.cIdentifier('_a1')).toEqual([])
  expect(names.cIdentifier('1a')).toHaveLength(1)
  expect(names.httpHeaderName('X-Y')).toEqual([])
  expect(names.httpHeaderName('X_Y')).toHaveLength(1)
  expect(names.wildcardSubdomain('*.example.com')).toEqual([])
  expect(names.wildcardSubdomain('a.*.com')).toHaveLength(1)
})

describe('object names', () => {
  test.each([
    ['system:x', 'path', []],
    ['a/b', 'path', ["may not contain '/'"]],
    ['a%b', 'path', ["may not contain '%'"]],
    ['.', 'path', ["may not be '.'"]],
    ['..', 'path', ["may not be '..'"]],
    ['a.b', 'subdomain', []],
    ['a.b', 'label', ['must not contain dots']],
  ] as const)('%j as %s', (text, form, faults) => {
    expect(names.objectName(text, form)).toEqual(faults)
  })
  test('a prefix to generate from may end in a dash', () => {
    expect(names.objectNamePrefix('web-', 'subdomain')).toEqual([])
    expect(names.objectNamePrefix('web--', 'subdomain')).toEqual([])
    expect(names.objectNamePrefix('-', 'subdomain')).toHaveLength(1)
    expect(names.objectNamePrefix('Web-', 'label')).toHaveLength(1)
  })
})
