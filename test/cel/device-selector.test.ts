import { describe, expect, it, test } from 'vitest'
import { compileCel } from '../../components/cel/cel.ts'
import { compileDeviceSelector } from '../../components/cel/device-selector.ts'

const device = {
  driver: 'gpu.example.com',
  attributes: {
    model: { string: 'a100' },
    index: { int: 3 },
    shared: { bool: true },
    'other.example.com/firmware': { version: '1.10.3+build' },
  },
  capacity: { memory: '10Gi', 'other.example.com/lanes': '16' },
}

const own = 'device.attributes["gpu.example.com"]'
const other = 'device.attributes["other.example.com"]'

describe('a selector of devices', () => {
  test.each([
    ['device.driver == "gpu.example.com"', true],
    [`${own}.model == "a100"`, true],
    [`${own}.model == "h100"`, false],
    [`${own}.index > 2 && ${own}.shared`, true],
    [`has(${own}.colour)`, false],
    [`${own}.?colour.orValue("none") == "none"`, true],
    ['"gpu.example.com" in device.attributes', true],
    ['"unknown.example.com" in device.attributes', false],
    ['"model" in device.attributes["unknown.example.com"]', false],
    ['device.capacity["gpu.example.com"].memory.compareTo(quantity("8Gi")) >= 0', true],
    ['device.capacity["gpu.example.com"].memory.isLessThan(quantity("8Gi"))', false],
    ['device.capacity["other.example.com"].lanes == quantity("16")', true],
    [`${other}.firmware.isGreaterThan(semver("1.9.0"))`, true],
    [`${other}.firmware == semver("1.10.3")`, true],
    [`${other}.firmware.major() == 1 && ${other}.firmware.patch() == 3`, true],
    ['semver("1.0.0-alpha.1").isLessThan(semver("1.0.0"))', true],
    ['semver("1.0.0-alpha.2").compareTo(semver("1.0.0-alpha.10")) == -1', true],
    ['isSemver("1.0")', false],
    [`cel.bind(gpu, ${own}, gpu.model == "a100" && gpu.index == 3)`, true],
  ])('%s is %s', (expression, expected) => {
    expect(compileDeviceSelector(expression).matches(device)).toBe(expected)
  })

  test.each([
    [`${own}.colour == "red"`, 'no such key: colour'],
    [`${own}.index`, 'CEL result could not be converted to bool'],
    [`${own}.model > 3`, 'found no matching overload'],
  ])('%s fails for the device', (expression, why) => {
    expect(() => compileDeviceSelector(expression).matches(device)).toThrow(why)
  })

  test.each([
    ['device.name == "a"', "undefined field 'name'"],
    ['device.driver', 'must evaluate to bool or the unknown type, not string'],
    ['device.driver ==', 'Syntax error'],
    ['cel.bind(1, 2, true)', 'cel.bind() variable names must be simple identifiers'],
    ['semver(1)', 'found no matching overload'],
  ])('%s does not compile', (expression, why) => {
    expect(() => compileDeviceSelector(expression)).toThrow(why)
  })

  it('has a bounded cost, which grows with what it loops over', () => {
    const plain = compileDeviceSelector(`${own}.model == "a100"`).mostCost
    const loop = compileDeviceSelector('device.attributes.exists(k, k == "a")').mostCost
    expect(plain).toBeLessThan(20)
    expect(loop).toBeGreaterThan(100)
    const nested = 'device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, '
    const deep = `${nested}device.attributes.all(d, a + b + c == d))))`
    expect(compileDeviceSelector(deep).mostCost).toBeGreaterThan(1_000_000)
  })

  it('leaves other expressions without versions and bindings', () => {
    expect(() => compileCel('isSemver("1.0.0")', { variables: {} })).toThrow(
      "undeclared reference to 'isSemver'",
    )
    expect(() => compileCel('cel.bind(a, 1, a == 1)', { variables: {} })).toThrow(
      'undeclared reference',
    )
  })
})
