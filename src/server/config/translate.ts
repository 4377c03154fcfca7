/** From what the schema found to sentences for people. */
import type * as z from 'zod/mini';
import { fieldPath, kindOf, type Problem, quoted, suggestion } from './problems.ts';
import { fieldAt, namesBelow } from './schema.ts';
import type { Plain, ReadYaml } from './yaml.ts';

type Issue = z.core.$ZodIssue;
type Steps = readonly PropertyKey[];

export function translate(issues: readonly Issue[], yaml: ReadYaml, below: Steps = []): Problem[] {
  return issues.flatMap((issue) => problemsOf(issue, yaml, [...below, ...issue.path]));
}

function problemsOf(issue: Issue, yaml: ReadYaml, steps: Steps): Problem[] {
  const value = valueAt(yaml.value, steps);
  const say = (sentence: string): Problem[] => [
    { ...yaml.positionOf(steps), field: fieldPath(steps), sentence },
  ];
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => unknownField(key, yaml, steps));
    case 'invalid_union':
      return unionProblems(issue.errors, yaml, steps, value);
    case 'invalid_type':
      return say(wrongType(value, expectedOf(issue.expected), isSecret(steps)));
    case 'invalid_value':
      return say(wrongValue(value, issue.values.map(String)));
    default:
      return say(issue.message);
  }
}

/** The problems of the form that was meant: the one whose kind of value this is. */
function unionProblems(
  forms: readonly (readonly Issue[])[],
  yaml: ReadYaml,
  steps: Steps,
  value: unknown,
): Problem[] {
  const meant = forms.find((issues) => issues.every((issue) => !isAboutKind(issue, value)));
  if (meant !== undefined) return translate(meant, yaml, steps);
  const type = fieldAt(pattern(steps))?.type ?? 'another value';
  const sentence =
    value === undefined ? 'This field is missing.' : `${kindSentence(value)}; it needs: ${type}.`;
  return [{ ...yaml.positionOf(steps), field: fieldPath(steps), sentence }];
}

function isAboutKind({ code, path }: Issue, value: unknown): boolean {
  return (
    path.length === 0 && (code === 'invalid_type' || (code === 'invalid_value' && typeof value !== 'string'))
  );
}

function unknownField(key: string, yaml: ReadYaml, steps: Steps): Problem {
  if (isSecret(steps))
    return {
      ...yaml.keyPositionOf([...steps, key]),
      field: fieldPath(steps),
      sentence: 'This has a field that is neither `file` nor `env`.',
    };
  const path = [...steps, key];
  const known = namesBelow(pattern(steps));
  const close = suggestion(key, known);
  const hint = close === undefined ? `There are: ${known.join(', ')}.` : `Did you mean "${close}"?`;
  return {
    ...yaml.keyPositionOf(path),
    field: fieldPath(path),
    sentence: `There is no field ${quoted(key)} here. ${hint}`,
  };
}

function wrongType(value: unknown, expected: string, secret: boolean): string {
  if (value === undefined) return 'This field is missing.';
  if (typeof value === 'number' && expected === 'a text')
    return secret
      ? 'This is a number; put it in quotation marks.'
      : `${quoted(value)} is a number; put it in quotation marks if it is meant as a text.`;
  return `${kindSentence(value)}; it needs ${expected}.`;
}

function kindSentence(value: unknown): string {
  return value === null || value === undefined ? 'There is no value here' : `This is ${kindOf(value)}`;
}

function wrongValue(value: unknown, allowed: readonly string[]): string {
  if (value === undefined) return 'This field is missing.';
  const close = typeof value === 'string' ? suggestion(value, allowed) : undefined;
  const hint = close === undefined ? `Use one of: ${allowed.join(', ')}.` : `Did you mean "${close}"?`;
  return `${value === null ? 'Nothing' : quoted(value)} is not known here. ${hint}`;
}

function expectedOf(expected: string): string {
  switch (expected) {
    case 'string':
      return 'a text';
    case 'array':
      return 'a list';
    case 'object':
      return 'a mapping';
    default:
      return 'a number';
  }
}

function isSecret(steps: Steps): boolean {
  if (steps[0] === 'acceptors') return steps[2] === 'password';
  return (steps[0] === 'tokens' || steps[0] === 'keys') && steps.length > 1;
}

/** `regions[].nodes[].listen` for the steps to any node's. */
function pattern(steps: Steps): string {
  return fieldPath(steps).replaceAll(/\[\d+\]/g, '[]');
}

export function valueAt(value: Plain | undefined, steps: Steps): unknown {
  let at: unknown = value;
  for (const step of steps) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) return undefined;
    at = (at as Record<PropertyKey, unknown>)[step];
  }
  return at;
}
