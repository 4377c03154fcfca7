/** A letter or two for each region, so that colour is not all that tells them apart. */

export function lettersFor(regions: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return regions.map((name, at) => {
    const letters = name.toUpperCase().match(/[\p{L}\p{N}]/gu) ?? [];
    const words = name.toUpperCase().split(/[\s_-]+/u);
    const candidates = [
      ...(words.length > 1 ? [words.map((word) => word[0] ?? '').join('')] : []),
      letters[0] ?? '',
      ...letters.slice(1).map((letter) => `${letters[0]}${letter}`),
      `${at + 1}`,
    ];
    const found =
      candidates.find((text) => text !== '' && text.length <= 3 && !taken.has(text)) ?? `${at + 1}`;
    taken.add(found);
    return found;
  });
}
